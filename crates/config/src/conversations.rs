//! Whose conversations are taken in, how long they are kept, and how much of
//! them is held in memory to be searched.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConversationsConfig {
    /// Absolute, or below `~/`.
    pub projects: Vec<String>,
    /// 0 means for ever.
    pub keep_days: u32,
    pub index_mb: u32,
}

impl Default for ConversationsConfig {
    fn default() -> Self {
        Self {
            projects: Vec::new(),
            keep_days: 0,
            index_mb: 128,
        }
    }
}

impl ConversationsConfig {
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        for folder in &self.projects {
            let named = folder == "~" || folder.starts_with('/') || folder.starts_with("~/");
            if !named || folder.contains('\0') {
                let message = format!("`{folder}` must be an absolute path or begin with `~/`");
                return Err(("conversations.projects", message));
            }
        }
        if self.keep_days > 36_500 {
            let message = format!("{} must be 0 to 36500", self.keep_days);
            return Err(("conversations.keep_days", message));
        }
        if !(1..=65_536).contains(&self.index_mb) {
            let message = format!("{} must be 1 to 65536", self.index_mb);
            return Err(("conversations.index_mb", message));
        }
        Ok(())
    }
}
