//! Time zones, segments of texts and the order of a dictionary, for `Intl`.

mod collate;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;
use unicode_segmentation::UnicodeSegmentation as _;

use crate::host::{Host, Natives};

pub(super) const FUNCTIONS: Natives = &[
    ("localZone", |call| call.reply(local_zone(call.host))),
    ("zoneName", |call| call.reply(zone_name(&call.text(0)?))),
    ("zoneNames", |call| {
        let names = jiff::tz::db().available().map(|name| name.to_string());
        call.reply(names.filter(|name| name.contains('/')).collect::<Vec<_>>())
    }),
    // `zoneAt(time, zone)` returns the offset in seconds and the abbreviation.
    ("zoneAt", |call| call.reply(json!(zone_at(call.number(0)?, &call.text(1)?)))),
    ("segments", |call| {
        let (text, granularity) = (call.text(0)?, call.text(1)?);
        call.reply(match granularity.as_str() {
            "word" => text.split_word_bounds().map(str::to_owned).collect::<Vec<_>>(),
            "sentence" => text.split_sentence_bounds().map(str::to_owned).collect(),
            _ => text.graphemes(true).map(str::to_owned).collect(),
        })
    }),
    // `compare(a, b, sensitivity, isNumeric, upperFirst, ignoresPunctuation)`.
    ("compare", |call| {
        let rules = collate::Rules {
            sensitivity: &call.text(2)?,
            is_numeric: call.flag(3)?,
            upper_first: call.flag(4)?,
            ignores_punctuation: call.flag(5)?,
        };
        call.reply(collate::compare(&call.text(0)?, &call.text(1)?, &rules) as i32)
    }),
];

/// Returns the zone of the process: `TZ`, else that of the system.
fn local_zone(host: &Host) -> String {
    let variable = host.process.variable("TZ");
    let variable = variable.as_deref().map(|name| name.trim_start_matches(':'));
    if let Some(name) = variable.and_then(zone_name) {
        return name;
    }
    let system = TimeZone::system();
    system.iana_name().map_or_else(|| "UTC".to_owned(), str::to_owned)
}

/// Returns the name of a zone in its usual spelling; `None` for an unknown one.
fn zone_name(name: &str) -> Option<String> {
    let upper = name.to_ascii_uppercase();
    if matches!(upper.as_str(), "UTC" | "ETC/UTC" | "GMT" | "ETC/GMT") {
        return Some("UTC".to_owned());
    }
    if let Some(offset) = fixed(name) {
        let (sign, seconds) = (if offset < 0 { '-' } else { '+' }, offset.abs());
        return Some(format!("{sign}{:02}:{:02}", seconds / 3600, seconds / 60 % 60));
    }
    let zone = TimeZone::get(name).ok()?;
    zone.iana_name().map(str::to_owned)
}

/// Parses `+01:00`.
fn fixed(name: &str) -> Option<i32> {
    let sign = match name.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    let (hours, minutes) = name.get(1..)?.split_once(':').unwrap_or((name.get(1..)?, "0"));
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn zone_at(time: f64, zone: &str) -> (i32, String) {
    if zone == "UTC" {
        return (0, "UTC".to_owned());
    }
    if let Some(offset) = fixed(zone) {
        return (offset, zone.to_owned());
    }
    // Times out of range have the offset of the nearest one in range.
    let bounds = (Timestamp::MIN.as_millisecond(), Timestamp::MAX.as_millisecond());
    let milliseconds = (time as i64).clamp(bounds.0, bounds.1);
    let found = Timestamp::from_millisecond(milliseconds).ok().zip(TimeZone::get(zone).ok());
    let Some((timestamp, zone)) = found else { return (0, "UTC".to_owned()) };
    let info = zone.to_offset_info(timestamp);
    (info.offset().seconds(), info.abbreviation().to_owned())
}
