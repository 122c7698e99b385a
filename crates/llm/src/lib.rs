//! Every model behind one gate.
//!
//! Two users: the daemon, which asks ([`Llm::ask`], [`Llm::chat`]), and the agents it
//! runs, whose requests pass through ([`Llm::relay`]). Both go through the same gate,
//! the same budgets and the same record; neither agent nor record ever has a key.
//! [`formats`] speaks with providers, [`gate`] decides what may be asked now.

mod ask;
mod chat;
mod error;
mod format;
pub mod formats;
pub mod gate;
pub mod items;
mod keys;
mod ledger;
mod price;
mod registry;
mod relay;
mod router;
mod service;
mod tokens;

pub use ask::{Answered, Ask, structured};
pub use chat::{Reply, Said};
pub use error::{LlmError, dollars};
pub use keys::KeySource;
pub use ledger::Asker;
pub use price::{cost, price_of};
pub use registry::Provider;
pub use relay::{Activity, AgentOfToken, Face, Incoming, Refused, RelayBody, Relayed, Watch};
pub use router::{ModelName, Need, Route, Tier, route};
pub use service::{Llm, Parts, ProviderState};
pub use tokens::{Access, AccessError};
