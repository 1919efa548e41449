// Messages a processor second of SimGrid: a ring AllReduce of 64 MB over hosts with a link each.
//
//     g++ -O2 -std=c++17 simgrid_ring.cc -lsimgrid -o simgrid_ring && ./simgrid_ring 128
//
// bench/side_by_side.py compiles and runs it.
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>

namespace sg = simgrid::s4u;

int main(int argc, char** argv) {
  sg::Engine engine(&argc, argv);
  const int members = argc > 1 ? std::stoi(argv[1]) : 128;
  const double chunk = 64e6 / members;
  sg::NetZone* zone = sg::create_full_zone("ring");
  std::vector<sg::Host*> hosts;
  std::vector<const sg::Link*> links;
  for (int m = 0; m < members; ++m) {
    hosts.push_back(zone->create_host("h" + std::to_string(m), 1e9)->seal());
    links.push_back(zone->create_link("l" + std::to_string(m), 1e10)->set_latency(2e-6)->seal());
  }
  for (int m = 0; m < members; ++m) {
    zone->add_route(hosts[m]->get_netpoint(), hosts[(m + 1) % members]->get_netpoint(), nullptr,
                    nullptr, {sg::LinkInRoute(links[m])}, false);
  }
  zone->seal();
  int payload = 0;
  for (int m = 0; m < members; ++m) {
    sg::Actor::create("a" + std::to_string(m), hosts[m], [&, m] {
      sg::Mailbox* in = sg::Mailbox::by_name(std::to_string(m));
      sg::Mailbox* out = sg::Mailbox::by_name(std::to_string((m + 1) % members));
      for (int step = 0; step < 2 * (members - 1); ++step) {
        const sg::CommPtr sent = out->put_async(&payload, static_cast<std::uint64_t>(chunk));
        in->get<int>();
        sent->wait();
      }
    });
  }
  const std::clock_t begin = std::clock();
  engine.run();
  const double used = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  const double messages = 2.0 * (members - 1) * members;
  std::cout << messages << " messages, " << messages / used << " messages per processor second, "
            << engine.get_clock() << " s simulated\n";
}
