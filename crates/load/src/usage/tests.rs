use std::time::Duration;

use super::{ProcessUsage, cpu_time, proc_bytes};

#[test]
fn cpu_time_is_that_of_user_and_kernel_whatever_the_program_is_called() {
    let stat = "7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 120 30 999 999 20 0 4 0";
    assert_eq!(cpu_time(stat), Duration::from_millis(1_500));
}

#[test]
fn memory_is_in_bytes() {
    assert_eq!(proc_bytes("VmHWM:\t  12 kB\nVmRSS:\t  10 kB\n", "VmRSS:"), 10 * 1024);
}

#[test]
fn a_process_that_is_not_there_uses_nothing() {
    assert_eq!(ProcessUsage::of(u32::MAX), ProcessUsage::default());
}
