//! Prints the operation catalogue as JSON: what the types of the web board are
//! made from, without a program to be built first that would contain the board.

use missiond_api::CATALOGUE;
use serde_json::json;

#[allow(clippy::print_stdout)]
fn main() {
    let operations: Vec<_> = CATALOGUE
        .iter()
        .map(|spec| {
            json!({
                "name": spec.name,
                "description": spec.description,
                "effect": spec.effect,
                "params": spec.params_schema(),
                "result": spec.result_schema(),
            })
        })
        .collect();
    println!("{}", serde_json::Value::from(operations));
}
