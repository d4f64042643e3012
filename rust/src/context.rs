//! The variables of a render, from the caller's JSON, with users' strings marked.

use crate::specials::Specials;
use minijinja::Value;
use serde_json::Value as Json;

/// The caller's own strings, which are special tokens as they stand.
const OWN: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"];

fn value_of(json: Json, specials: &Specials) -> Value {
    match json {
        Json::Null => Value::from(()),
        Json::Bool(truth) => Value::from(truth),
        Json::Number(number) => number_of(&number),
        Json::String(text) => Value::from(specials.mark(text)),
        Json::Array(items) => items.into_iter().map(|item| value_of(item, specials)).collect(),
        Json::Object(members) => Value::from_pairs(
            members
                .into_iter()
                .map(|(key, member)| (specials.mark(key), value_of(member, specials))),
        ),
    }
}

fn number_of(number: &serde_json::Number) -> Value {
    if let Some(number) = number.as_i64() {
        Value::from(number)
    } else if let Some(number) = number.as_u64() {
        Value::from(number)
    } else {
        Value::from(number.as_f64().unwrap_or(f64::NAN))
    }
}

/// None when the bytes are not a JSON object. serde_json bounds the depth at 128.
pub fn context_of(json: &[u8], specials: &Specials) -> Option<Value> {
    let Json::Object(members) = serde_json::from_slice(json).ok()? else {
        return None;
    };
    Some(Value::from_pairs(members.into_iter().map(|(key, member)| match member {
        Json::String(text) if OWN.contains(&key.as_str()) => (key, Value::from(text)),
        member => (key, value_of(member, specials)),
    })))
}
