//! The manifests at hand: those shipped in the binary, and those put over them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::manifest::{Manifest, ManifestError};

/// The manifest used when an engine has none of its own.
pub const GENERIC: &str = "generic";

const SHIPPED: [(&str, &str); 9] = [
    ("aider", include_str!("../../../manifests/aider.yaml")),
    ("claude", include_str!("../../../manifests/claude.yaml")),
    ("codex", include_str!("../../../manifests/codex.yaml")),
    ("copilot", include_str!("../../../manifests/copilot.yaml")),
    ("gemini", include_str!("../../../manifests/gemini.yaml")),
    (GENERIC, include_str!("../../../manifests/generic.yaml")),
    ("opencode", include_str!("../../../manifests/opencode.yaml")),
    ("qwen", include_str!("../../../manifests/qwen.yaml")),
    (
        "rehearsal",
        include_str!("../../../manifests/rehearsal.yaml"),
    ),
];

/// Manifests by engine name. A manifest put in later replaces the earlier one
/// of the same engine: shipped first, then the user's.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    manifests: BTreeMap<String, Arc<Manifest>>,
}

impl Catalogue {
    /// What is shipped. Fails only if a shipped manifest is broken, which the
    /// tests rule out.
    pub fn shipped() -> Result<Self, ManifestError> {
        let mut catalogue = Self {
            manifests: BTreeMap::new(),
        };
        for (_, text) in SHIPPED {
            catalogue.put(Manifest::parse(text)?);
        }
        Ok(catalogue)
    }

    /// Adds a manifest under its engine's name, in place of an earlier one.
    pub fn put(&mut self, manifest: Manifest) {
        self.manifests
            .insert(manifest.engine().to_owned(), Arc::new(manifest));
    }

    #[must_use]
    pub fn get(&self, engine: &str) -> Option<&Arc<Manifest>> {
        self.manifests.get(engine)
    }

    /// The engine's manifest, or the generic one.
    #[must_use]
    pub fn for_engine(&self, engine: Option<&str>) -> Option<&Arc<Manifest>> {
        engine
            .and_then(|engine| self.get(engine))
            .or_else(|| self.get(GENERIC))
    }

    pub fn engines(&self) -> impl Iterator<Item = &str> {
        self.manifests.keys().map(String::as_str)
    }
}
