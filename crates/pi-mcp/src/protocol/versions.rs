//! Versions of the protocol, and their two eras.

/// The version of 2024-11-05.
pub const V2024_11_05: &str = "2024-11-05";
/// The version of 2025-03-26.
pub const V2025_03_26: &str = "2025-03-26";
/// The version of 2025-06-18.
pub const V2025_06_18: &str = "2025-06-18";
/// The version of 2025-11-25.
pub const V2025_11_25: &str = "2025-11-25";
/// The version of 2026-07-28.
pub const V2026_07_28: &str = "2026-07-28";

/// Versions with a handshake, the newest first.
pub const LEGACY: [&str; 4] = [V2025_11_25, V2025_06_18, V2025_03_26, V2024_11_05];
/// Versions with metadata in every request, the newest first.
pub const MODERN: [&str; 1] = [V2026_07_28];

/// The two kinds of versions, which need different conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// A handshake, then a connection with state: 2025-11-25 and older.
    Legacy,
    /// No handshake; every request says what it needs: 2026-07-28.
    Modern,
}

impl Era {
    /// Returns the era of a version; `None` if the version is unknown.
    pub fn of(version: &str) -> Option<Self> {
        if LEGACY.contains(&version) {
            Some(Self::Legacy)
        } else {
            MODERN.contains(&version).then_some(Self::Modern)
        }
    }
}
