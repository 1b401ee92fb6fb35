//! Sizes as people write them.

/// Parses a size such as `500`, `64KB` or `10MiB`. All units are powers of 1024.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let unit = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}
