//! The built-in providers: names, base URLs and the variables of their keys.
//!
//! A table of facts. This module must not read the environment; the caller that resolves a key reads
//! the variables named here. Logins, and further settings of a provider such as an account or a
//! region, are not part of the table.

/// A built-in provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderInfo {
    /// The id used in settings and model records.
    pub id: &'static str,
    /// The display name.
    pub name: &'static str,
    /// Environment variables that may hold the key; the first one that is set counts.
    pub key_env: &'static [&'static str],
    /// The base URL of custom models without one. Parts in braces are variables of the environment;
    /// `{location}` is filled in by the wire format. `None` if there is no default.
    pub base_url: Option<&'static str>,
    /// The wire format at `base_url`.
    pub api: &'static str,
}

/// All built-in providers, sorted by id.
///
/// Several providers support more than one wire format; the table has the best default for an
/// unknown model.
pub static PROVIDERS: &[ProviderInfo] = &[
    ProviderInfo {
        id: "amazon-bedrock",
        name: "Amazon Bedrock",
        key_env: &["AWS_BEARER_TOKEN_BEDROCK"],
        base_url: Some("https://bedrock-runtime.us-east-1.amazonaws.com"),
        api: "bedrock-converse-stream",
    },
    ProviderInfo {
        id: "ant-ling",
        name: "Ant Ling",
        key_env: &["ANT_LING_API_KEY"],
        base_url: Some("https://api.ant-ling.com/v1"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "anthropic",
        name: "Anthropic",
        key_env: &["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_API_KEY"],
        base_url: Some("https://api.anthropic.com"),
        api: "anthropic-messages",
    },
    ProviderInfo {
        id: "azure",
        name: "Azure",
        key_env: &["AZURE_OPENAI_API_KEY"],
        base_url: None,
        api: "azure-openai-responses",
    },
    ProviderInfo {
        id: "baseten",
        name: "Baseten",
        key_env: &["BASETEN_API_KEY"],
        base_url: Some("https://inference.baseten.co/v1"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "cerebras",
        name: "Cerebras",
        key_env: &["CEREBRAS_API_KEY"],
        base_url: Some("https://api.cerebras.ai/v1"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "cloudflare-ai-gateway",
        name: "Cloudflare AI Gateway",
        key_env: &["CLOUDFLARE_API_KEY"],
        base_url: Some(
            "https://gateway.ai.cloudflare.com/v1/{CLOUDFLARE_ACCOUNT_ID}/{CLOUDFLARE_GATEWAY_ID}/compat",
        ),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "cloudflare-workers-ai",
        name: "Cloudflare Workers AI",
        key_env: &["CLOUDFLARE_API_KEY"],
        base_url: Some(
            "https://api.cloudflare.com/client/v4/accounts/{CLOUDFLARE_ACCOUNT_ID}/ai/v1",
        ),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "deepseek",
        name: "DeepSeek",
        key_env: &["DEEPSEEK_API_KEY"],
        base_url: Some("https://api.deepseek.com"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "fireworks",
        name: "Fireworks",
        key_env: &["FIREWORKS_API_KEY"],
        base_url: Some("https://api.fireworks.ai/inference/v1"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "github-copilot",
        name: "GitHub Copilot",
        key_env: &["COPILOT_GITHUB_TOKEN"],
        base_url: Some("https://api.individual.githubcopilot.com"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "google",
        name: "Google",
        key_env: &["GEMINI_API_KEY"],
        base_url: Some("https://generativelanguage.googleapis.com/v1beta"),
        api: "google-generative-ai",
    },
    ProviderInfo {
        id: "google-vertex",
        name: "Google Vertex AI",
        key_env: &["GOOGLE_CLOUD_API_KEY"],
        base_url: Some("https://{location}-aiplatform.googleapis.com"),
        api: "google-vertex",
    },
    ProviderInfo {
        id: "groq",
        name: "Groq",
        key_env: &["GROQ_API_KEY"],
        base_url: Some("https://api.groq.com/openai/v1"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "huggingface",
        name: "Hugging Face",
        key_env: &["HF_TOKEN"],
        base_url: Some("https://router.huggingface.co/v1"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "kimi-coding",
        name: "Kimi For Coding",
        key_env: &["KIMI_API_KEY"],
        base_url: Some("https://api.kimi.com/coding/v1"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "meta",
        name: "Meta",
        key_env: &["META_API_KEY"],
        base_url: Some("https://api.meta.ai/v1"),
        api: "openai-responses",
    },
    ProviderInfo {
        id: "minimax",
        name: "MiniMax",
        key_env: &["MINIMAX_API_KEY"],
        base_url: Some("https://api.minimax.io/anthropic"),
        api: "anthropic-messages",
    },
    ProviderInfo {
        id: "minimax-cn",
        name: "MiniMax (China)",
        key_env: &["MINIMAX_CN_API_KEY"],
        base_url: Some("https://api.minimaxi.com/anthropic"),
        api: "anthropic-messages",
    },
    ProviderInfo {
        id: "mistral",
        name: "Mistral",
        key_env: &["MISTRAL_API_KEY"],
        base_url: Some("https://api.mistral.ai"),
        api: "mistral-conversations",
    },
    ProviderInfo {
        id: "moonshotai",
        name: "Moonshot AI",
        key_env: &["MOONSHOT_API_KEY"],
        base_url: Some("https://api.moonshot.ai/v1"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "moonshotai-cn",
        name: "Moonshot AI (China)",
        key_env: &["MOONSHOT_API_KEY"],
        base_url: Some("https://api.moonshot.cn/v1"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "nvidia",
        name: "NVIDIA",
        key_env: &["NVIDIA_API_KEY"],
        base_url: Some("https://integrate.api.nvidia.com/v1"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "openai",
        name: "OpenAI",
        key_env: &["OPENAI_API_KEY"],
        base_url: Some("https://api.openai.com/v1"),
        api: "openai-responses",
    },
    ProviderInfo {
        id: "openai-codex",
        name: "OpenAI Codex (legacy)",
        key_env: &[],
        base_url: Some("https://chatgpt.com/backend-api"),
        api: "openai-codex-responses",
    },
    ProviderInfo {
        id: "opencode",
        name: "OpenCode Zen",
        key_env: &["OPENCODE_API_KEY"],
        base_url: Some("https://opencode.ai/inference/openai/v1"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "opencode-go",
        name: "OpenCode Go",
        key_env: &["OPENCODE_API_KEY"],
        base_url: Some("https://opencode.ai/inference/go/openai/v1"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "openrouter",
        name: "OpenRouter",
        key_env: &["OPENROUTER_API_KEY"],
        base_url: Some("https://openrouter.ai/api/v1"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "qwen-token-plan",
        name: "Qwen Token Plan",
        key_env: &["QWEN_TOKEN_PLAN_API_KEY"],
        base_url: Some("https://token-plan.ap-southeast-1.maas.aliyuncs.com/compatible-mode/v1"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "qwen-token-plan-cn",
        name: "Qwen Token Plan (China)",
        key_env: &["QWEN_TOKEN_PLAN_CN_API_KEY"],
        base_url: Some("https://token-plan.cn-beijing.maas.aliyuncs.com/compatible-mode/v1"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "qwen-token-plan-individual",
        name: "Qwen Token Plan (Individual)",
        key_env: &["QWEN_TOKEN_PLAN_API_KEY"],
        base_url: Some("https://token-plan.ap-southeast-1.maas.aliyuncs.com/compatible-mode/v1"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "radius",
        name: "Radius",
        key_env: &["RADIUS_API_KEY"],
        base_url: Some("https://radius.pi.dev/v1"),
        api: "pi-messages",
    },
    ProviderInfo {
        id: "together",
        name: "Together",
        key_env: &["TOGETHER_API_KEY"],
        base_url: Some("https://api.together.ai/v1"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "typesafe",
        name: "TypeSafe",
        key_env: &["TYPESAFE_API_KEY"],
        base_url: Some("https://api.typesafe.ai/v1/"),
        api: "typesafe-system-one",
    },
    ProviderInfo {
        id: "vercel-ai-gateway",
        name: "Vercel AI Gateway",
        key_env: &["AI_GATEWAY_API_KEY"],
        base_url: Some("https://ai-gateway.vercel.sh"),
        api: "anthropic-messages",
    },
    ProviderInfo {
        id: "xai",
        name: "xAI",
        key_env: &["XAI_API_KEY"],
        base_url: Some("https://api.x.ai/v1"),
        api: "openai-responses",
    },
    ProviderInfo {
        id: "xiaomi",
        name: "Xiaomi",
        key_env: &["XIAOMI_API_KEY"],
        base_url: Some("https://api.xiaomimimo.com/v1"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "xiaomi-token-plan-ams",
        name: "Xiaomi Token Plan (Amsterdam)",
        key_env: &["XIAOMI_TOKEN_PLAN_AMS_API_KEY"],
        base_url: Some("https://token-plan-ams.xiaomimimo.com/v1"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "xiaomi-token-plan-cn",
        name: "Xiaomi Token Plan (China)",
        key_env: &["XIAOMI_TOKEN_PLAN_CN_API_KEY"],
        base_url: Some("https://token-plan-cn.xiaomimimo.com/v1"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "xiaomi-token-plan-sgp",
        name: "Xiaomi Token Plan (Singapore)",
        key_env: &["XIAOMI_TOKEN_PLAN_SGP_API_KEY"],
        base_url: Some("https://token-plan-sgp.xiaomimimo.com/v1"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "zai",
        name: "Z.AI",
        key_env: &["ZAI_API_KEY"],
        base_url: Some("https://api.z.ai/api/coding/paas/v4"),
        api: "openai-completions",
    },
    ProviderInfo {
        id: "zai-coding-cn",
        name: "Z.AI Coding (China)",
        key_env: &["ZAI_CODING_CN_API_KEY"],
        base_url: Some("https://open.bigmodel.cn/api/coding/paas/v4"),
        api: "openai-completions",
    },
];

/// Finds the provider with exactly this id.
pub fn provider(id: &str) -> Option<&'static ProviderInfo> {
    let at = PROVIDERS.binary_search_by_key(&id, |provider| provider.id).ok()?;
    PROVIDERS.get(at)
}

/// Returns true if a key of a provider stands for the credentials of the machine: the marker that
/// logins of Google Vertex AI store, or an example of documentation that was left in place.
pub fn is_placeholder(provider: &str, key: &str) -> bool {
    provider == "google-vertex"
        && (key == "gcp-vertex-credentials" || (key.starts_with('<') && key.ends_with('>')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;

    /// All names of wire formats; the last one is for classifiers only.
    const APIS: &[&str] = &[
        "anthropic-messages",
        "azure-openai-responses",
        "bedrock-converse-stream",
        "google-generative-ai",
        "google-vertex",
        "mistral-conversations",
        "openai-codex-responses",
        "openai-completions",
        "openai-responses",
        "pi-messages",
        "typesafe-system-one",
    ];

    #[test]
    fn sorted_and_unique() {
        // The binary search depends on the order.
        assert!(PROVIDERS.is_sorted_by(|a, b| a.id < b.id));
    }

    #[test]
    fn every_provider_is_found() {
        for expected in PROVIDERS {
            assert_eq!(provider(expected.id), Some(expected));
        }
        assert_eq!(provider("unknown"), None);
        assert_eq!(provider("Anthropic"), None);
    }

    #[test]
    fn wire_formats_are_known() {
        for provider in PROVIDERS {
            assert!(APIS.contains(&provider.api), "{provider:?}");
        }
        for model in catalog::providers().flat_map(catalog::models) {
            assert!(APIS.contains(&model.api.as_str()), "{}/{}", model.provider, model.id);
        }
    }

    /// Every default is in use: some model in the catalog has the same base URL and wire format.
    #[test]
    fn the_catalog_uses_the_defaults() {
        for id in catalog::providers() {
            let info = provider(id).unwrap_or_else(|| panic!("no entry for {id}"));
            let base_url = info.base_url.unwrap_or_default();
            assert!(
                catalog::models(id)
                    .any(|model| model.api == info.api && model.base_url == base_url),
                "{info:?}"
            );
        }
    }

    #[test]
    fn keys_come_in_order_of_precedence() {
        let keys = |id: &str| provider(id).map(|provider| provider.key_env);
        assert_eq!(
            keys("anthropic"),
            Some(["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_API_KEY"].as_slice())
        );
        // Available only with a login.
        assert_eq!(keys("openai-codex"), Some([].as_slice()));
    }
}
