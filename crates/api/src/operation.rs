//! What an operation is.

use schemars::{JsonSchema, Schema, SchemaGenerator, schema_for};
use serde::{Serialize, de::DeserializeOwned};

/// Which part of the system an operation belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Domain {
    Compute,
    Knowledge,
    Communication,
    System,
}

impl Domain {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Knowledge => "knowledge",
            Self::Communication => "communication",
            Self::System => "system",
        }
    }
}

/// What calling an operation does to the world. A caller decides by this
/// whether to ask first and whether trying again is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing changes.
    ReadOnly,
    /// Something changes; doing it twice changes nothing more.
    Idempotent,
    /// Something is added each time.
    Additive,
    /// Something that cannot be brought back may be lost.
    Destructive,
}

impl Effect {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Idempotent => "idempotent",
            Self::Additive => "additive",
            Self::Destructive => "destructive",
        }
    }
}

/// From where an operation can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    Anywhere,
    /// By the user of this machine on the daemon's socket alone: it lets others
    /// in, so whoever was let in over the network must not have it.
    Socket,
}

/// What a call uses beside the message and its answer, for whoever chooses
/// between operations. A hint: how long it takes hangs on what it is called with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// The daemon knows it: less than a millisecond.
    Instant,
    /// The database is read or written: milliseconds.
    Database,
    /// Other programs are started, driven or asked, or many files are read: up
    /// to seconds.
    Process,
    /// Nothing, for as long as the caller says: it waits for something to happen.
    Wait,
    /// An agent works because of it: minutes, and what its model costs.
    Agent,
}

impl Cost {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instant => "instant",
            Self::Database => "database",
            Self::Process => "process",
            Self::Wait => "wait",
            Self::Agent => "agent",
        }
    }
}

/// One operation: its name and its types. The description and the rest are in
/// the [`OperationSpec`].
pub trait Operation: 'static {
    type Params: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    type Result: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    const SPEC: OperationSpec;
}

#[derive(Debug, Clone, Copy)]
pub struct OperationSpec {
    pub name: &'static str,
    pub domain: Domain,
    pub effect: Effect,
    /// The group a client can ask for as a whole.
    pub toolset: &'static str,
    /// One sentence, written for a model that chooses by it.
    pub description: &'static str,
    pub reach: Reach,
    pub cost: Cost,
    params_schema: fn() -> Schema,
    result_schema: fn() -> Schema,
    schemas_in: fn(&mut SchemaGenerator) -> (Schema, Schema),
}

impl OperationSpec {
    #[must_use]
    pub const fn of<P: JsonSchema, R: JsonSchema>(
        name: &'static str,
        domain: Domain,
        effect: Effect,
        toolset: &'static str,
        description: &'static str,
    ) -> Self {
        Self {
            name,
            domain,
            effect,
            toolset,
            description,
            reach: Reach::Anywhere,
            cost: Cost::Database,
            params_schema: || schema_for!(P),
            result_schema: || schema_for!(R),
            schemas_in: |generator| {
                (
                    generator.subschema_for::<P>(),
                    generator.subschema_for::<R>(),
                )
            },
        }
    }

    #[must_use]
    pub const fn reached_from(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    #[must_use]
    pub const fn costing(self, cost: Cost) -> Self {
        Self { cost, ..self }
    }

    #[must_use]
    pub fn params_schema(&self) -> Schema {
        (self.params_schema)()
    }

    #[must_use]
    pub fn result_schema(&self) -> Schema {
        (self.result_schema)()
    }

    /// The schemas of parameters and result, with what they share in the
    /// generator's definitions.
    pub(crate) fn schemas_in(&self, generator: &mut SchemaGenerator) -> (Schema, Schema) {
        (self.schemas_in)(generator)
    }
}
