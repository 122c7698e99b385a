//! `mission call`: the catalogue as it is, for scripts and the curious.

use std::collections::BTreeMap;
use std::io::Read;
use std::process::ExitCode;

use missiond_api::{CATALOGUE, MAX_FRAME, OperationSpec};
use missiond_core::ErrorCode;
use serde_json::{json, value::RawValue};

use crate::args::CallArgs;
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;

pub(super) fn call(
    args: CallArgs,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    if args.openapi {
        output.line(format!("{:#}", missiond_api::openapi()));
        return Ok(ExitCode::SUCCESS);
    }
    let Some(operation) = args.operation else {
        list(output);
        return Ok(ExitCode::SUCCESS);
    };
    let text = match args.params.as_deref() {
        None => "{}".to_owned(),
        Some("-") => {
            let mut text = String::new();
            std::io::stdin()
                .take(MAX_FRAME as u64)
                .read_to_string(&mut text)?;
            text
        }
        Some(text) => text.to_owned(),
    };
    let params: Box<RawValue> = serde_json::from_str(&text).map_err(|error| {
        Failure::new(
            ErrorCode::InvalidParams,
            format!("the parameters are not JSON: {error}"),
        )
    })?;
    let result = reach.client(output)?.call_raw(&operation, &params)?;
    if output.is_json() {
        output.line(result.get());
    } else {
        let value: serde_json::Value = serde_json::from_str(result.get())
            .map_err(|error| Failure::new(ErrorCode::Internal, error.to_string()))?;
        output.line(format!("{value:#}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn list(output: &mut Output) {
    let operations: Vec<_> = CATALOGUE
        .iter()
        .map(|spec| {
            json!({
                "name": spec.name,
                "domain": spec.domain,
                "authority": spec.authority.name(),
                "scope": spec.scope(),
                "effect": spec.effect,
                "cost": spec.cost,
                "toolset": spec.toolset,
                "description": spec.description,
                "params": spec.params_schema(),
                "result": spec.result_schema(),
            })
        })
        .collect();
    output.result(&operations, |output, _| {
        let rows: Vec<_> = CATALOGUE
            .iter()
            .map(|spec| {
                vec![
                    spec.name.to_owned(),
                    spec.cost.name().to_owned(),
                    spec.description.to_owned(),
                ]
            })
            .collect();
        output.table(&["operation", "costs", "what it does"], &rows);
        output.line(format!("{} operations", CATALOGUE.len()));
        for (what, counts) in [
            ("by domain", counted(|spec| spec.domain.name())),
            ("by toolset", counted(|spec| spec.toolset)),
            ("by cost", counted(|spec| spec.cost.name())),
        ] {
            output.line(format!("{what}: {counts}"));
        }
    });
}

fn counted(of: impl Fn(&OperationSpec) -> &'static str) -> String {
    let mut counts = BTreeMap::new();
    for spec in CATALOGUE {
        *counts.entry(of(spec)).or_insert(0) += 1;
    }
    let counts: Vec<_> = counts
        .iter()
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    counts.join(", ")
}
