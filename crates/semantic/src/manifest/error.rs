//! What is wrong with a manifest, and where.

use std::fmt;

use missiond_yaml::Problem;

/// All problems of one manifest, in file order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestError {
    pub problems: Vec<Problem>,
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "line {}: {}", problem.line, problem.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for ManifestError {}
