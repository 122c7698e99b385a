//! Who is told of which change: by a subscription of the newer era, or by what a
//! client of the older one watches on its connection.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use crate::offer::{Change, Refusal};

/// Single resources that one subscription or connection may watch.
const MOST_URIS: usize = 100;

/// The resources a client of the older era watches. It is told of lists anyway.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subscriptions(Arc<Mutex<BTreeSet<String>>>);

impl Subscriptions {
    fn uris(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock()
    }

    pub(crate) fn add(&self, uri: &str) -> Result<(), Refusal> {
        let mut uris = self.uris();
        if uris.len() >= MOST_URIS && !uris.contains(uri) {
            let message = format!("a client may watch {MOST_URIS} resources");
            return Err(Refusal::invalid(&message));
        }
        uris.insert(uri.to_owned());
        Ok(())
    }

    pub(crate) fn remove(&self, uri: &str) {
        self.uris().remove(uri);
    }

    pub(crate) fn filter(&self) -> NotificationFilter {
        NotificationFilter {
            tools: true,
            prompts: true,
            resources: true,
            uris: self.uris().iter().cloned().collect(),
        }
    }
}

pub(crate) const LIST_METHODS: [&str; 3] = [
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
];

fn list_method(change: &Change) -> Option<&'static str> {
    match change {
        Change::Tools => Some(LIST_METHODS[0]),
        Change::Prompts => Some(LIST_METHODS[1]),
        Change::Resources => Some(LIST_METHODS[2]),
        Change::Resource(_) => None,
    }
}

/// What a subscription is to be told of.
pub(crate) struct NotificationFilter {
    tools: bool,
    prompts: bool,
    resources: bool,
    uris: Vec<String>,
}

impl NotificationFilter {
    pub(crate) fn of(filter: &Value, with_resources: bool) -> Self {
        let is_wanted = |key: &str| filter[key] == json!(true);
        let uris = filter["resourceSubscriptions"].as_array();
        let uris = uris.filter(|_| with_resources).into_iter().flatten();
        Self {
            tools: is_wanted("toolsListChanged"),
            prompts: is_wanted("promptsListChanged"),
            resources: is_wanted("resourcesListChanged"),
            uris: uris
                .filter_map(|uri| uri.as_str().map(str::to_owned))
                .take(MOST_URIS)
                .collect(),
        }
    }

    pub(crate) fn granted(&self) -> Value {
        let mut granted = json!({});
        for (key, wanted) in [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ] {
            if wanted {
                granted[key] = json!(true);
            }
        }
        if !self.uris.is_empty() {
            granted["resourceSubscriptions"] = json!(self.uris);
        }
        granted
    }

    pub(crate) fn notice(&self, change: &Change) -> Option<(&'static str, Value)> {
        let is_wanted = match change {
            Change::Tools => self.tools,
            Change::Prompts => self.prompts,
            Change::Resources => self.resources,
            Change::Resource(uri) => self.uris.contains(uri),
        };
        match (is_wanted, change) {
            (false, _) => None,
            (true, Change::Resource(uri)) => {
                Some(("notifications/resources/updated", json!({ "uri": uri })))
            }
            (true, change) => Some((list_method(change)?, json!({}))),
        }
    }

    pub(crate) fn all_notices(&self) -> Vec<(&'static str, Value)> {
        let lists = [Change::Tools, Change::Prompts, Change::Resources];
        let uris = self.uris.iter().cloned().map(Change::Resource);
        let changes = lists.into_iter().chain(uris);
        changes.filter_map(|change| self.notice(&change)).collect()
    }
}
