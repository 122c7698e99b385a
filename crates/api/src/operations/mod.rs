//! The operations, by domain: parameters, results and what they are for.

pub mod access;
pub mod attention;
pub mod autopilot;
pub mod board;
pub mod code;
pub mod communication;
pub mod compute;
pub mod context;
pub mod conversation;
pub mod execution;
pub mod knowledge;
pub mod observe;
pub mod review;
pub mod system;
pub mod tools;
pub mod worktree;

/// Declares the operations of a file: a unit struct each, bound to its types.
/// In the brackets: what it does to the world, its toolset, from where it can be
/// called unless from anywhere, and what it costs unless the database answers.
macro_rules! operations {
    ($domain:ident; $($operation:ident = $name:literal ($effect:ident, $toolset:literal $(, $reach:ident)? $(; $cost:ident)?):
        $params:ty => $result:ty, $description:literal;)*) => {$(
        #[derive(Debug)]
        pub struct $operation;

        impl crate::Operation for $operation {
            type Params = $params;
            type Result = $result;
            const SPEC: crate::OperationSpec = crate::OperationSpec::of::<$params, $result>(
                $name,
                crate::Domain::$domain,
                crate::Effect::$effect,
                $toolset,
                $description,
            )$(.reached_from(crate::Reach::$reach))?$(.costing(crate::Cost::$cost))?;
        }
    )*};
}
use operations;

/// Parameters of an operation that takes none.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct NoParams {}
