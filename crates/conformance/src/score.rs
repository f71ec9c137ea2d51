//! The score: passed cases of each suite, compared with the recorded floor.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use kubewright_value::{Map, Value, json};

use crate::differs::Differs;
use crate::suites::{SuiteCaseResult, SuiteResult};

/// The score of every suite.
pub(crate) struct ConformanceScore {
    suites: Vec<SuiteScore>,
}

struct SuiteScore {
    name: String,
    total: usize,
    passed: usize,
    differs: usize,
    failed: Vec<SuiteCaseResult>,
    uncounted: usize,
}

impl ConformanceScore {
    /// Counts `results`; a failing case with a reason to differ is counted apart.
    pub(crate) fn new(results: Vec<SuiteResult>, differs: &Differs) -> Self {
        let count = |suite: SuiteResult| {
            let total = suite.cases.len();
            let (passed, rest): (Vec<_>, Vec<_>) =
                suite.cases.into_iter().partition(|case| case.failure.is_none());
            let (different, failed): (Vec<_>, Vec<_>) =
                rest.into_iter().partition(|case| differs.has(&suite.name, &case.name));
            let (passed, differs) = (passed.len(), different.len());
            SuiteScore { name: suite.name, total, passed, differs, failed, uncounted: suite.uncounted }
        };
        Self { suites: results.into_iter().map(count).collect() }
    }

    fn sum(&self, of: impl Fn(&SuiteScore) -> usize) -> usize {
        self.suites.iter().map(of).sum()
    }

    pub(crate) fn to_json(&self) -> String {
        let suite = |suite: &SuiteScore| {
            let failed: Vec<Value> = suite.failed.iter().map(|case| case.name.as_str().into()).collect();
            Value::object(Map::from([
                ("suite", suite.name.as_str().into()),
                ("total", suite.total.into()),
                ("passed", suite.passed.into()),
                ("differs", suite.differs.into()),
                ("failed", Value::array(failed)),
            ]))
        };
        let score = Map::from([
            ("suites", Value::array(self.suites.iter().map(suite).collect())),
            ("total", self.sum(|suite| suite.total).into()),
            ("passed", self.sum(|suite| suite.passed).into()),
            ("differs", self.sum(|suite| suite.differs).into()),
        ]);
        json::to_pretty(&score.into())
    }

    pub(crate) fn to_table(&self, is_verbose: bool) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "{:<40}{:>7}{:>8}{:>9}{:>8}{:>11}",
            "suite", "total", "passed", "differs", "failed", "uncounted"
        );
        for suite in &self.suites {
            let _ = writeln!(
                out,
                "{:<40}{:>7}{:>8}{:>9}{:>8}{:>11}",
                suite.name,
                suite.total,
                suite.passed,
                suite.differs,
                suite.failed.len(),
                suite.uncounted
            );
            for case in suite.failed.iter().filter(|_| is_verbose) {
                let _ = writeln!(
                    out,
                    "    {}\n        {}",
                    case.name,
                    case.failure.as_deref().unwrap_or_default()
                );
            }
        }
        let (total, passed) = (self.sum(|suite| suite.total), self.sum(|suite| suite.passed));
        let (differs, failed) = (self.sum(|suite| suite.differs), self.sum(|suite| suite.failed.len()));
        let _ = writeln!(out, "{:<40}{total:>7}{passed:>8}{differs:>9}{failed:>8}", "all");
        out
    }
}

/// The recorded minimum of passes and differences of each suite.
pub(crate) struct ScoreFloor {
    answered: BTreeMap<String, i64>,
}

impl ScoreFloor {
    /// Returns the text that records `score`.
    pub(crate) fn of(score: &ConformanceScore) -> String {
        let suites: Map = score
            .suites
            .iter()
            .map(|suite| {
                let record = Map::from([
                    ("total", suite.total.into()),
                    ("passed", suite.passed.into()),
                    ("differs", suite.differs.into()),
                ]);
                (suite.name.as_str().into(), Value::object(record))
            })
            .collect();
        json::to_pretty(&suites.into()) + "\n"
    }

    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let value = json::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let count = |suite: &Value, key| suite.get(key).and_then(Value::as_i64).unwrap_or(0);
        let entries = value.as_object().into_iter().flat_map(Map::iter);
        Ok(Self {
            answered: entries.map(|(name, suite)| (name.to_string(), count(suite, "passed"))).collect(),
        })
    }

    /// Returns a line for each suite that passes fewer cases than recorded.
    pub(crate) fn broken_by(&self, score: &ConformanceScore, prefix: &str) -> Vec<String> {
        let passed =
            |name: &str| score.suites.iter().find(|suite| suite.name == name).map_or(0, |suite| suite.passed);
        self.answered
            .iter()
            .filter(|(name, _)| name.starts_with(prefix))
            .filter(|(name, least)| i64::try_from(passed(name)).unwrap_or(i64::MAX) < **least)
            .map(|(name, least)| format!("{name} passes {} cases, {least} were recorded", passed(name)))
            .collect()
    }
}
