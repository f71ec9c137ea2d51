//! CPU and memory of this process, as Linux counts them.

/// CPU seconds and memory in MiB.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessUsage {
    pub(crate) cpu: f64,
    pub(crate) memory: f64,
    pub(crate) peak: f64,
}

impl ProcessUsage {
    /// Reads the usage of this process.
    pub(crate) fn now() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells the status");
        let mebibytes = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key)).expect("a line of the status");
            let kibibytes = line.split_whitespace().next().and_then(|text| text.parse::<f64>().ok());
            kibibytes.expect("memory is a number") / 1024.0
        };
        let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux tells the CPU time");
        // The name of the program may hold spaces; user and system time are the 12th and 13th words after it.
        let words = stat.rsplit(')').next().expect("a name in brackets");
        let ticks: f64 =
            words.split_whitespace().skip(11).take(2).filter_map(|text| text.parse::<f64>().ok()).sum();
        Self { cpu: ticks / 100.0, memory: mebibytes("VmRSS:"), peak: mebibytes("VmHWM:") }
    }
}
