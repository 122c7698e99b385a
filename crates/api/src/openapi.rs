//! The catalogue as an OpenAPI 3.1 document: what HTTP serves, for clients in
//! other languages. It is made from the same types as everything else, so there
//! is nothing to keep in step by hand.

use missiond_core::TimelineEvent;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::{CATALOGUE, OperationSpec};

/// The document of this build. Operations that are for a person alone are not
/// in it: a program cannot call them.
#[must_use]
pub fn openapi() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.meta_schema = None;
    settings.definitions_path = "/components/schemas".into();
    let mut generator = settings.into_generator();
    let offered = CATALOGUE.iter().filter(|spec| spec.scope().is_some());
    let paths: Map<String, Value> = offered
        .map(|spec| {
            let (params, result) = spec.schemas_in(&mut generator);
            let path = format!("/api/v1/ops/{}", spec.name);
            (path, describe(spec, &params.into(), &result.into()))
        })
        .collect();
    // What the live socket carries, for those who generate types from this.
    let _ = generator.subschema_for::<TimelineEvent>();
    let _ = generator.subschema_for::<missiond_core::ErrorCode>();
    let mut schemas = generator.take_definitions(true);
    schemas.insert("Error".to_owned(), error_schema());
    json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": "missiond",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Every operation of the daemon, as it is served on loopback HTTP. \
                Programs authenticate with a token of `mission token create`.",
            "license": {"name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT"},
        },
        "servers": [{"url": "/", "description": "this daemon"}],
        "security": [{"token": []}, {"session": [], "csrf": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {
                "Error": {
                    "description": "What is wrong and what to do about it.",
                    "content": {"application/json": {
                        "schema": {"$ref": "#/components/schemas/Error"},
                    }},
                },
            },
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "mission_session"},
                "csrf": {"type": "apiKey", "in": "header", "name": "x-mission-csrf"},
            },
        },
    })
}

fn describe(spec: &OperationSpec, params: &Value, result: &Value) -> Value {
    json!({"post": {
        "operationId": spec.name,
        "summary": spec.description,
        "tags": [spec.toolset],
        "x-effect": spec.effect,
        "x-domain": spec.domain,
        "x-cost": spec.cost,
        "requestBody": {
            "required": false,
            "content": {"application/json": {"schema": params}},
        },
        "responses": {
            "200": {
                "description": "It was done.",
                "content": {"application/json": {"schema": result}},
            },
            "default": {"$ref": "#/components/responses/Error"},
        },
    }})
}

fn error_schema() -> Value {
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {"error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"$ref": "#/components/schemas/ErrorCode"},
                "message": {"type": "string"},
                "data": {
                    "type": "object",
                    "properties": {"retry_after_ms": {"type": "integer", "minimum": 0}},
                },
            },
        }},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match value {
                        Value::String(target) if name == "$ref" => found.push(target.clone()),
                        value => references(value, found),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    #[test]
    fn every_operation_that_can_be_called_over_http_is_there_and_no_other() {
        let document = openapi();
        let paths = document["paths"].as_object().unwrap();
        for spec in CATALOGUE {
            let there = paths.contains_key(&format!("/api/v1/ops/{}", spec.name));
            assert_eq!(there, spec.scope().is_some(), "{}", spec.name);
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document = openapi();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > CATALOGUE.len());
        for target in found {
            let place = target.strip_prefix('#').unwrap();
            assert!(document.pointer(place).is_some(), "{target}");
        }
    }
}
