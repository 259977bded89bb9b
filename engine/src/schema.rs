//! `crumple-engine schema`: the schemas of the documents that lab and engine exchange, from the Rust types.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output;
use crate::progress_line::ProgressLine;
use crate::record::TrialRecord;
use crate::serve::Facts;
use crate::spec::TrialSpec;
use crate::weigh::spec::{Weighed, Weighing};

fn schemas() -> Value {
    json!({
        "spec": schema::<TrialSpec>(),
        "record": schema::<TrialRecord>(),
        "progress": schema::<ProgressLine>(),
        "facts": schema::<Facts>(),
        "weighing": schema::<Weighing>(),
        "weighed": schema::<Weighed>(),
    })
}

/// The document as it is written: every field is there, null where there is no value.
fn schema<T: JsonSchema>() -> schemars::Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

pub fn print() -> Result<(), Failure> {
    output::print(&format!("{:#}", schemas()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_schemas_are_the_types() {
        let stored: Value = serde_json::from_str(include_str!("../../contract/schema.json")).unwrap();
        assert_eq!(stored, schemas(), "make contract");
    }

    #[test]
    fn the_golden_pair_survives_a_round_trip() {
        for (text, kind) in [
            (include_str!("../../contract/golden/spec.json"), "spec"),
            (include_str!("../../contract/golden/record.json"), "record"),
        ] {
            let golden: Value = serde_json::from_str(text).unwrap();
            let again = match kind {
                "spec" => serde_json::to_value(serde_json::from_value::<TrialSpec>(golden.clone()).unwrap()),
                _ => serde_json::to_value(serde_json::from_value::<TrialRecord>(golden.clone()).unwrap()),
            };
            assert_eq!(again.unwrap(), golden, "{kind}");
        }
    }
}
