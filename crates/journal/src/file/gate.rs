//! Every moment at which a write can be cut short. In the product a gate is
//! always open; a test closes it at one step and sees what is left on disk.

use std::fmt;
use std::sync::Arc;

use crate::store::StoreError;

/// A step that changes what is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    WriteLines,
    SyncLines,
    WriteHead,
    SyncHead,
    WriteAside,
    Truncate,
    Rename,
    SyncFolder,
}

/// Decides whether a step happens.
pub(crate) type Guard = dyn Fn(Step) -> Result<(), StoreError> + Send + Sync;

#[derive(Clone, Default)]
pub(crate) struct Gate(Option<Arc<Guard>>);

impl Gate {
    #[cfg(test)]
    pub(crate) fn guarded(
        guard: impl Fn(Step) -> Result<(), StoreError> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(guard)))
    }

    pub(crate) fn pass(&self, step: Step) -> Result<(), StoreError> {
        self.0.as_ref().map_or(Ok(()), |guard| guard(step))
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "Gate(guarded)"
        } else {
            "Gate"
        })
    }
}
