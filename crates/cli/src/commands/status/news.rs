//! How other threads wake the loop of the live view.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// What wakes the loop beside keys.
pub(in crate::commands) enum News {
    /// Something is on the timeline.
    Event,
    /// The subscription has ended.
    Unsubscribed,
    Resized,
    Ending(i32),
    /// What came of an answer, as a sentence.
    Said(String),
    /// The terminal that was opened is left.
    TerminalLeft,
}

/// How others wake the loop.
#[derive(Clone)]
pub(in crate::commands) struct Bell {
    pub(in crate::commands) news: Sender<News>,
    pub(in crate::commands) wake: Arc<UnixStream>,
}

impl Bell {
    pub(in crate::commands) fn ring(&self, news: News) -> bool {
        let sent = self.news.send(news).is_ok();
        // A full pipe wakes as well as another byte in it.
        let _ = (&*self.wake).write(&[1]);
        sent
    }
}
