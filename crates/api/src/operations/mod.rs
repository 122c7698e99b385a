//! The operations, by domain: parameters, results and what they are for.

pub mod access;
pub mod attention;
pub mod audit;
pub mod autopilot;
pub mod board;
pub mod code;
pub mod communication;
pub mod compute;
pub mod config;
pub mod context;
pub mod conversation;
pub mod demo;
pub mod docs;
pub mod engines;
pub mod execution;
pub mod knowledge;
pub mod llm;
pub mod observe;
pub mod overview;
pub mod policy;
pub mod proposal;
pub mod repository;
pub mod review;
pub mod search;
pub mod system;
pub mod tools;
pub mod trust;
pub mod worktree;

/// Declares the operations of a file: a unit struct each, bound to its types and
/// to the code that reads and writes them, which is compiled here and nowhere else.
/// In the brackets: what it does to the world, its toolset, who may call it, and what it
/// costs unless the database answers. Where nobody is named, what only looks is for
/// everyone and all else for people alone.
macro_rules! operations {
    ($domain:ident; $($operation:ident = $name:literal ($effect:ident, $toolset:literal $(, $authority:ident $(($own:ident))?)? $(; $cost:ident)?):
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
            )$(.allowed_to(crate::Authority::$authority $((crate::Own::$own))?))?$(.costing(crate::Cost::$cost))?;

            fn parse(params: &str) -> Result<$params, crate::ApiError> {
                crate::invalid_params::check_object($name, params)?;
                serde_json::from_str(params)
                    .map_err(|error| crate::invalid_params::invalid_params($name, params, &error))
            }

            fn encode(result: &$result) -> serde_json::Result<Box<serde_json::value::RawValue>> {
                serde_json::value::to_raw_value(result)
            }

            fn encode_params(
                params: &$params,
            ) -> serde_json::Result<Box<serde_json::value::RawValue>> {
                serde_json::value::to_raw_value(params)
            }

            fn parse_result(result: &str) -> serde_json::Result<$result> {
                serde_json::from_str(result)
            }
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
