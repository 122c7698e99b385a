//! What requests wait for: counted while they do, and known of each afterwards.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// A limit that makes requests wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimitKind {
    AtOnce,
    Requests,
    Tokens,
    InputTokens,
    OutputTokens,
    /// The provider wants to be left alone for a while.
    Asked,
}

/// What a request waits for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WaitCause {
    pub limit: LimitKind,
    /// The models that the limit is for; none is all of the provider.
    pub models: Option<String>,
}

impl fmt::Display for WaitCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = match self.limit {
            LimitKind::AtOnce => "`at_once`",
            LimitKind::Requests => "`requests_per_minute`",
            LimitKind::Tokens => "`tokens_per_minute`",
            LimitKind::InputTokens => "`input_tokens_per_minute`",
            LimitKind::OutputTokens => "`output_tokens_per_minute`",
            LimitKind::Asked => "the pause it asked for",
        };
        match &self.models {
            None => f.write_str(key),
            Some(models) => write!(f, "{key} of {models}"),
        }
    }
}

/// How long one request waited, and what for the longest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Waited {
    pub total: Duration,
    longest: Option<(Duration, WaitCause)>,
}

impl Waited {
    #[must_use]
    pub fn cause(&self) -> Option<&WaitCause> {
        self.longest.as_ref().map(|(_, cause)| cause)
    }

    fn add(&mut self, time: Duration, cause: WaitCause) {
        self.total += time;
        if self.longest.as_ref().is_none_or(|(known, _)| time > *known) {
            self.longest = Some((time, cause));
        }
    }
}

/// The requests of a provider that wait, by what for.
#[derive(Debug, Default)]
pub(super) struct Waits {
    counts: Mutex<BTreeMap<WaitCause, u32>>,
}

impl Waits {
    pub(super) fn counts(&self) -> Vec<(WaitCause, u32)> {
        let counts = self.counts.lock();
        counts.iter().map(|(c, n)| (c.clone(), *n)).collect()
    }

    /// Waits for something, and is counted as long.
    pub(super) async fn count<T>(
        self: &Arc<Self>,
        cause: WaitCause,
        waited: &mut Waited,
        work: impl Future<Output = T>,
    ) -> T {
        let began = Instant::now();
        let counted = Counted::begin(self, cause);
        let done = work.await;
        waited.add(began.elapsed(), counted.cause.clone());
        done
    }
}

/// One request that waits; whoever goes away waits no longer.
struct Counted {
    waits: Arc<Waits>,
    cause: WaitCause,
}

impl Counted {
    fn begin(waits: &Arc<Waits>, cause: WaitCause) -> Self {
        *waits.counts.lock().entry(cause.clone()).or_insert(0) += 1;
        Self {
            waits: Arc::clone(waits),
            cause,
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut counts = self.waits.counts.lock();
        if let Some(count) = counts.get_mut(&self.cause) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.cause);
            }
        }
    }
}
