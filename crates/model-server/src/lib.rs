//! A model on this machine that says what a test tells it to.
//!
//! Speaks as much of four APIs as agent CLIs need: Anthropic Messages, OpenAI
//! Responses and Chat Completions, Gemini. A test queues [`Reply`]s and reads
//! what was asked in the log. Replies can wait for a [`Gate`], so that a test
//! decides when the model goes on and never has to guess a time. Requests the
//! CLIs make for themselves (titles, counts, summaries) are answered without
//! touching the queue.

mod anthropic;
mod chat;
mod gemini;
mod reply;
mod responses;
mod serve;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use tokio::sync::oneshot;

pub use reply::{Gate, Reply};

/// Which API a request belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Api {
    Anthropic,
    Responses,
    Chat,
    Gemini,
}

/// What a request was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A step of the conversation: answered from the queue.
    Turn,
    /// A step for which no reply was queued.
    Unscripted,
    /// Something the CLI wants for itself.
    Helper,
}

/// A request that arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// When it arrived.
    pub at: SystemTime,
    pub api: Api,
    pub purpose: Purpose,
    pub path: String,
    /// What the request shows as its key, in whichever header.
    pub key: Option<String>,
    pub body: Value,
}

/// The server; it ends when this is dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    script: Arc<Script>,
    _stop: oneshot::Sender<()>,
}

#[derive(Debug, Default)]
struct Script {
    replies: Mutex<VecDeque<Reply>>,
    /// Instead of every other, while it is there.
    always: Mutex<Option<Reply>>,
    /// Whether requests without tools are steps of the conversation too.
    plain_turns: AtomicBool,
    /// Those for conversations in which certain words are.
    about: Mutex<Vec<(String, VecDeque<Reply>)>>,
    log: Mutex<Vec<Received>>,
}

impl ModelServer {
    /// Listens on a free port of the loopback interface.
    pub fn start() -> io::Result<Self> {
        let script = Arc::new(Script::default());
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let served = Arc::clone(&script);
        std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = serve::serve(listener, served) => {}
                    _ = stopped => {}
                }
            });
        });
        Ok(Self {
            address,
            script,
            _stop: stop,
        })
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Without a path or a final slash.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Answers the next step of the conversation that has no reply yet.
    pub fn reply(&self, reply: Reply) {
        self.script.replies().push_back(reply);
    }

    /// Answers the next step of a conversation in which these words are, before
    /// what is queued for all: for agents that work at the same time.
    pub fn reply_about(&self, words: &str, reply: Reply) {
        let mut about = self.script.about();
        match about.iter_mut().find(|(known, _)| known == words) {
            Some((_, replies)) => replies.push_back(reply),
            None => about.push((words.to_owned(), VecDeque::from([reply]))),
        }
    }

    /// Answers every step alike until it is told otherwise: for CLIs that try again.
    pub fn always(&self, reply: Option<Reply>) {
        *self.script.always.lock() = reply;
    }

    /// Requests without tools are steps of the conversation too: for a CLI whose model
    /// has none.
    pub fn take_plain_turns(&self) {
        self.script.plain_turns.store(true, Ordering::Relaxed);
    }

    /// Everything that was asked so far.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.script.log().clone()
    }

    /// The steps of the conversation among it.
    #[must_use]
    pub fn turns(&self) -> Vec<Received> {
        let mut received = self.received();
        received.retain(|request| request.purpose != Purpose::Helper);
        received
    }
}

impl Script {
    fn replies(&self) -> MutexGuard<'_, VecDeque<Reply>> {
        self.replies.lock()
    }

    fn about(&self) -> MutexGuard<'_, Vec<(String, VecDeque<Reply>)>> {
        self.about.lock()
    }

    /// The reply to this step, which is used up by it.
    fn next(&self, body: &Value) -> Option<Reply> {
        if let Some(always) = &*self.always.lock() {
            return Some(always.clone());
        }
        let said = body.to_string();
        let mut about = self.about();
        let fits = about
            .iter_mut()
            .find(|(words, replies)| !replies.is_empty() && said.contains(words.as_str()));
        match fits {
            Some((_, replies)) => replies.pop_front(),
            None => self.replies().pop_front(),
        }
    }

    fn takes_plain_turns(&self) -> bool {
        self.plain_turns.load(Ordering::Relaxed)
    }

    fn log(&self) -> MutexGuard<'_, Vec<Received>> {
        self.log.lock()
    }
}
