/* The smallest MPI job: every rank joins, meets all others once, and leaves. Run under SimGrid SMPI by
   whole_command.py, as a yardstick for the registration of virtual ranks. */
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
