#pragma once

namespace drydock {

/// File descriptor that is closed at the end of its scope; negative = none. Only shells use it.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  /// Closes now and tells whether that worked: some file systems report a full disk only here.
  [[nodiscard]] bool Close();

 private:
  int fd_;
};

}  // namespace drydock
