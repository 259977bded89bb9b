//! `crumple-engine schema`: the schemas of both documents of the contract, from the Rust types.

use schemars::schema_for;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output;
use crate::record::TrialRecord;
use crate::spec::TrialSpec;

fn schemas() -> Value {
    json!({ "spec": schema_for!(TrialSpec), "record": schema_for!(TrialRecord) })
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
        assert_eq!(stored, schemas(), "crumple-engine schema > contract/schema.json");
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
