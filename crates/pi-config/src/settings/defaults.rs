//! The defaults of settings as they would be in a file, for lists of settings. The program itself
//! uses those in `effective`; a test compares both.

use serde_json::{Map, Value, json};

use super::Settings;
use super::effective::default_tools;

/// Returns the defaults that do not depend on other settings.
pub(super) fn defaults() -> Map<String, Value> {
    let settings = Settings::default();
    let (compaction, retry) = (settings.compaction(None), settings.retry());
    let provider = settings.provider_retry();
    let checkpoints = pi_tools::checkpoint::Limits::default();
    let milliseconds = |time: Option<std::time::Duration>| time.map_or(0, |time| time.as_millis());
    let defaults = json!({
        "defaultThinkingLevel": settings.default_thinking_level().to_string(),
        "steeringMode": "one-at-a-time",
        "followUpMode": "one-at-a-time",
        "steeringDelivery": "afterTurn",
        "defaultProjectTrust": "ask",
        "defaultTools": default_tools(),
        "changedFiles": "warn",
        "codemode": { "mode": "on", "inlineBudget": settings.codemode().inline_budget },
        "executor": settings.executor().to_string(),
        "checkpoints": {
            "enabled": settings.checkpoints().is_some(),
            "maxSizeMb": checkpoints.store_bytes / (1024 * 1024),
            "maxAgeDays": checkpoints.age.as_secs() / (24 * 60 * 60),
        },
        "compaction": {
            "enabled": compaction.enabled,
            "reserveTokens": compaction.reserve_tokens,
            "keepRecentTokens": compaction.keep_recent_tokens,
        },
        "branchSummary": {
            "reserveTokens": settings.branch_summary().reserve_tokens,
            "skipPrompt": settings.screen().skip_branch_summary_prompt,
        },
        "images": {
            "autoResize": settings.auto_resize_images(),
            "blockImages": settings.block_images(),
        },
        "transport": settings.transport(),
        "websocketConnectTimeoutMs": milliseconds(settings.websocket_connect_timeout()) as u64,
        "httpIdleTimeoutMs": milliseconds(settings.http_idle_timeout()) as u64,
        "retry": {
            "enabled": retry.enabled,
            "maxRetries": retry.max_retries,
            "baseDelayMs": retry.base_delay_ms,
            "maxAgentDelayMs": retry.max_delay_ms,
            "provider": {
                "maxRetries": provider.max_retries,
                "maxRetryDelayMs": milliseconds(provider.max_retry_delay) as u64,
            },
        },
        "enableSkillCommands": settings.enable_skill_commands(),
    });
    let all = [defaults, super::screen::defaults()];
    all.into_iter().filter_map(|part| part.as_object().cloned()).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::super::ScreenSettings;
    use super::super::layer::typed;
    use super::*;

    #[test]
    fn the_defaults_change_nothing() {
        let (written, absent) = (typed(&defaults()).unwrap(), Settings::default());
        assert_eq!(written.default_thinking_level(), absent.default_thinking_level());
        assert_eq!(written.steering_mode(), absent.steering_mode());
        assert_eq!(written.follow_up_mode(), absent.follow_up_mode());
        assert_eq!(written.steering_delivery(), absent.steering_delivery());
        assert_eq!(written.default_project_trust(), absent.default_project_trust());
        assert_eq!(written.default_tools(), Some(default_tools()));
        assert_eq!(written.changed_files(), absent.changed_files());
        assert_eq!(written.codemode(), absent.codemode());
        assert_eq!(written.executor(), absent.executor());
        assert_eq!(written.checkpoints(), absent.checkpoints());
        assert_eq!(written.compaction(None), absent.compaction(None));
        assert_eq!(written.branch_summary(), absent.branch_summary());
        assert_eq!(written.auto_resize_images(), absent.auto_resize_images());
        assert_eq!(written.block_images(), absent.block_images());
        assert_eq!(written.transport(), absent.transport());
        assert_eq!(written.websocket_connect_timeout(), absent.websocket_connect_timeout());
        assert_eq!(written.http_idle_timeout(), absent.http_idle_timeout());
        assert_eq!(written.retry(), absent.retry());
        assert_eq!(written.provider_retry(), absent.provider_retry());
        assert_eq!(written.enable_skill_commands(), absent.enable_skill_commands());
        let written = written.screen();
        assert_eq!(written.theme.as_deref(), Some("system"));
        assert_eq!(ScreenSettings { theme: None, ..written }, absent.screen());
    }
}
