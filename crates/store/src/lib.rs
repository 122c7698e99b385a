//! The mission database: one handle, [`MissionDb`], over SQLite or PostgreSQL.
//!
//! Each table has a module of functions over a [`Tx`], so that a consumer's
//! effect and its cursor, or a change and the event that tells of it, are
//! committed together:
//!
//! ```no_run
//! # use missiond_core::Seq;
//! # use missiond_store::{DbUrl, MissionDb, StoreError, watermarks};
//! # async fn example() -> Result<(), StoreError> {
//! let db = MissionDb::open(&"sqlite:/var/lib/mission.db".parse::<DbUrl>()?).await?;
//! db.write(|tx| {
//!     Box::pin(async move {
//!         tx.execute("UPDATE slots SET closed_at = $1 WHERE closed_at IS NULL", &[1_700_000_000_000_000_i64.into()])
//!             .await?;
//!         watermarks::advance(tx, "closer", Seq(7)).await
//!     })
//! })
//! .await?;
//! # Ok(())
//! # }
//! ```
//!
//! The SQL is written once, with `$1` parameters and the five kinds of
//! [`Value`] both engines share. The schema is described in `docs/reference/schema.md`,
//! the promises and measurements in `docs/how/storage.md`.

pub mod activity;
mod attention_numbers;
pub mod audit;
pub mod autopilot;
#[cfg(feature = "baseline")]
pub mod baseline;
pub mod beacons;
pub mod board;
pub mod capabilities;
pub mod code;
pub mod code_vectors;
pub mod conversations;
pub mod daemon_state;
mod db;
mod engine;
mod error;
pub mod executions;
pub mod http_access;
pub mod incidents;
pub mod journals;
pub mod knowledge;
pub mod leases;
pub mod llm;
mod migrate;
pub mod overview;
pub mod permissions;
mod postgres;
#[cfg(feature = "private-postgres")]
pub mod private_postgres;
mod progress;
pub mod prompt_snapshots;
pub mod published_effects;
pub mod questions;
pub mod run_surfaces;
pub mod slot_sessions;
pub mod slots;
mod sqlite;
pub mod stats_samples;
#[cfg(feature = "suite")]
pub mod suite;
pub mod tasks;
pub mod timeline;
pub mod token_usage;
pub mod trust_facts;
mod tx;
mod url;
mod value;
pub mod watermarks;

/// Copies of a SQLite database that nobody uses.
pub mod backup {
    pub use crate::sqlite::backup::{restore, save, schema_version};
}

pub use db::MissionDb;
pub use engine::Engine;
pub use error::StoreError;
pub use progress::StoreStats;
pub use timeline::NewEvent;
pub use tx::Tx;
pub use url::DbUrl;
pub use value::{FromValue, Row, Value};
