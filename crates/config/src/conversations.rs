//! Whose conversations are ingested, how long they are kept, and how much of
//! them is held in memory to be searched.

use crate::keys::{InvalidValue, section};

section! {
    #[derive(Eq)]
    pub struct ConversationsConfig: "conversations." {
        /// Folders in which your own conversations with agent CLIs are taken in from the
        /// CLIs' transcripts, for example `["~/src/app"]`. Empty means none; those of
        /// executions are taken in always.
        live projects: Vec<String> = Vec::new();
        /// Days after its last word that a conversation is forgotten; 0 means never.
        live keep_days: u32 = 0, in 0..=36_500;
        /// Memory that the words of conversations may take to be searched, in MB; what
        /// was said first is left out then, and a search says from when on it has looked.
        live index_mb: u32 = 128, in 1..=65_536;
    }
}

impl ConversationsConfig {
    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        for folder in &self.projects {
            let named = folder == "~" || folder.starts_with('/') || folder.starts_with("~/");
            if !named || folder.contains('\0') {
                let message = format!("`{folder}` must be an absolute path or begin with `~/`");
                return Err(InvalidValue::new("conversations.projects", message));
            }
        }
        Ok(())
    }
}
