! SPDX-License-Identifier: MIT
! tests/e2e/openmp_names.f90 - tasks that begin with inlined code
program names
  implicit none
  !$omp parallel num_threads(2)
  !$omp single
  !$omp task
  call work(300000)
  !$omp end task
  !$omp task
  call work(200000)
  !$omp end task
  !$omp end single
  !$omp end parallel
contains
  subroutine work(rounds)
    integer, intent(in) :: rounds
    integer :: i
    real(8), volatile :: sink

    do i = 1, rounds
      sink = sqrt(real(i, 8))
    end do
  end subroutine
end program
