//! Failures of providers, classified by their text.
//!
//! The text of a failed answer is what a session keeps and what other programs match, so it stays
//! as it is. This module reads it: the status, the code and the sentence of the provider, and the
//! kind of problem. Pure; it knows the words of providers, but no command and no remedy.

mod read;

use read::Reading;

/// A failure of a provider, read from the text of a failed answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderFailure {
    /// The kind of problem.
    pub kind: FailureKind,
    /// The HTTP status, if the text has one.
    pub status: Option<u16>,
    /// The sentence of the provider, without the JSON or the page around it.
    pub detail: String,
    /// The pause that the provider requested, in seconds, if it is longer than pi waits.
    pub pause: Option<u64>,
}

/// The kind of a provider's failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// There is no credential, or it cannot be resolved. No request was sent.
    NoCredential,
    /// The wire format or the provider cannot be used. No request was sent.
    Unsupported,
    /// The key, token or signature was rejected.
    RejectedCredential,
    /// The token or login has expired and was not renewed.
    ExpiredCredential,
    /// The credential is valid and lacks the permission.
    Forbidden,
    /// The account has no access to the model.
    NoModelAccess,
    /// The API is not enabled in the cloud project.
    ApiNotEnabled,
    /// The provider does not serve this country, or not this model in the region.
    Region,
    /// The model is available only through an inference profile.
    NeedsInferenceProfile,
    /// The account has no credit left.
    NoCredit,
    /// A quota of the account is used up for longer than a minute.
    Quota,
    /// The limit of a subscription is reached.
    PlanLimit,
    /// The plan or subscription does not include this use.
    PlanExcludes,
    /// Too many requests or tokens at this moment.
    RateLimit,
    /// The provider is overloaded.
    Overloaded,
    /// The provider failed.
    ServerError,
    /// The provider does not have the model.
    UnknownModel,
    /// The Azure resource does not have the deployment.
    UnknownDeployment,
    /// The prompt or the answer was stopped by a content filter, or the model refused.
    ContentFilter,
    /// The request is larger than the server accepts.
    TooLarge,
    /// The provider rejected the request.
    InvalidRequest,
    /// The server is not the API: a page, or a path that does not exist.
    NotTheApi,
    /// The server redirects to another origin.
    Redirected,
    /// The proxy requires a user and a password.
    ProxyAuthentication,
    /// The proxy cannot be reached, or refused the connection.
    ProxyRefused,
    /// The server does not speak TLS, and the address begins with `https`.
    PlainServer,
    /// The server requires TLS, and the address begins with `http`.
    TlsRequired,
    /// The certificate of the server is not accepted.
    Certificate,
    /// The name of the server cannot be resolved.
    UnknownHost,
    /// No program listens at the address.
    ConnectionRefused,
    /// The connection could not be established, or was lost before an answer.
    Connection,
    /// The server did not answer in time.
    TimedOut,
    /// The answer ended before it was complete.
    EndedEarly,
    /// A header has a value that cannot be sent.
    InvalidHeader,
    /// The address is not a URL.
    InvalidAddress,
    /// Anything else.
    Other,
}

impl ProviderFailure {
    /// Reads the text of a failed answer.
    pub fn of(text: &str) -> Self {
        let reading = Reading::of(text);
        let (status, pause) = (reading.status, reading.pause);
        Self { kind: kind(&reading), status, detail: reading.detail(), pause }
    }
}

/// Texts of this library for failures without a response.
const LOCAL: &[(FailureKind, &[&str])] = &[
    (
        FailureKind::NoCredential,
        &["no api key", "no aws credentials", "no credentials for ", " cannot be resolved: "],
    ),
    (FailureKind::ExpiredCredential, &["the login of ", "sign in again"]),
    (FailureKind::Unsupported, &["has no api implementation for", "this version does not support"]),
    (FailureKind::InvalidHeader, &["not allowed in a header", "is not a valid header name"]),
    (FailureKind::InvalidAddress, &["is not a valid url"]),
];

/// Texts of failed connections, which begin with `Connection error`.
const CONNECTION: &[(FailureKind, &[&str])] = &[
    (
        FailureKind::ProxyAuthentication,
        &["proxy authorization required", "proxy authentication required"],
    ),
    (FailureKind::ProxyRefused, &["(proxy "]),
    (FailureKind::PlainServer, &["invalidcontenttype", "received corrupt message"]),
    (FailureKind::TlsRequired, &["invalid http version parsed"]),
    (FailureKind::Certificate, &["certificate", "unknownissuer", "handshake"]),
    (FailureKind::UnknownHost, &["failed to lookup address", "dns error", "name or service"]),
    (FailureKind::ConnectionRefused, &["connection refused"]),
];

/// Words of providers, in order: the first that occurs decides.
const WORDS: &[(FailureKind, &[&str])] = &[
    (
        FailureKind::TlsRequired,
        &["plain http request was sent to https", "http request to an https server"],
    ),
    (
        FailureKind::PlanLimit,
        &[
            "usage_limit_exceeded",
            "usage_limit_reached",
            "chatgpt usage limit",
            "usagelimiterror",
            "reached your session usage limit",
            "reached your weekly usage limit",
        ],
    ),
    (
        FailureKind::PlanExcludes,
        &[
            "subscription_sharing_user_not_eligible",
            "subscription_sharing_route_not_supported",
            "subscription_sharing_unsupported_capability",
            "usage_not_included",
        ],
    ),
    (
        FailureKind::NoCredit,
        &[
            "credit balance is too low",
            "insufficient_quota",
            "insufficient credits",
            "insufficient balance",
            "insufficient_balance",
            "insufficient_user_quota",
            "out of credits",
            "out of budget",
            "billing_hard_limit",
            "billing_not_active",
            "requires more credits",
            "available balance",
        ],
    ),
    (
        FailureKind::Region,
        &[
            "unsupported_country_region_territory",
            "country, region, or territory not supported",
            "user location is not supported",
            "not supported in your region",
            "not available in your region",
            "isn't supported in this region",
            "model is not supported in region",
            "not available in your country",
        ],
    ),
    (
        FailureKind::NeedsInferenceProfile,
        &["on-demand throughput isn\u{2019}t supported", "on-demand throughput isn't supported"],
    ),
    (FailureKind::ApiNotEnabled, &["service_disabled", "has not been used in project"]),
    (FailureKind::UnknownDeployment, &["deploymentnotfound"]),
    (
        FailureKind::NoModelAccess,
        &[
            "don't have access to the model",
            "don\u{2019}t have access to the model",
            "does not have access to model",
            "not have access to the model",
            "model_not_allowed",
            "model access is denied",
        ],
    ),
    (
        FailureKind::ExpiredCredential,
        &[
            "expiredtoken",
            "token_expired",
            "token has expired",
            "token is expired",
            "session has expired",
            "refresh_token_",
        ],
    ),
    (
        FailureKind::RejectedCredential,
        &[
            "api key not valid",
            "api_key_invalid",
            "invalid_api_key",
            "invalid api key",
            "incorrect api key",
            "authentication_error",
            "unrecognizedclientexception",
            "invalidsignatureexception",
            "signaturedoesnotmatch",
            "security token included in the request is invalid",
            "access_token_type_unsupported",
            "subscription_sharing_invalid_user",
        ],
    ),
    (
        FailureKind::ContentFilter,
        &[
            "finish_reason: content_filter",
            "provider stopped with: safety",
            "provider stopped with: prohibited_content",
            "provider stopped with: blocklist",
            "provider stopped with: recitation",
            "provider stopped with: spii",
            "response incomplete: content_filter",
            "content_policy_violation",
            "responsibleaipolicyviolation",
            "content_filter",
            "data_inspection_failed",
            "the model refused to complete the request",
            "guardrail_intervened",
        ],
    ),
    (
        FailureKind::UnknownModel,
        &[
            "model_not_found",
            "model not found",
            "model not exist",
            "unknown model",
            "is not a valid model id",
            "model identifier is invalid",
            "is not found for api version",
            "try pulling it first",
            "no endpoints found for",
            "invalid model name",
            "invalid_model",
            "model does not exist",
        ],
    ),
    (FailureKind::Quota, &["perday", "per day", "monthly usage limit", "weekly limit"]),
    (
        FailureKind::RateLimit,
        &[
            "perminute",
            "per minute",
            "throttlingexception",
            "throttling error",
            "rate_limit",
            "too many requests",
        ],
    ),
    (FailureKind::Quota, &["exceeded your current quota", "quota exceeded"]),
    (
        FailureKind::Forbidden,
        &["accessdeniedexception", "is not authorized to perform", "permission_error"],
    ),
    (
        FailureKind::Overloaded,
        &[
            "overloaded",
            "server_busy",
            "currently experiencing high demand",
            "model is at capacity",
            "modelnotreadyexception",
            "serviceunavailableexception",
            "service unavailable:",
        ],
    ),
    (FailureKind::ServerError, &["(server error)"]),
    (FailureKind::EndedEarly, &["stream ended", "connection lost", "ended without"]),
];

fn kind(reading: &Reading<'_>) -> FailureKind {
    let text = reading.text.to_lowercase();
    let found = |table: &[(FailureKind, &[&str])]| {
        let row = table.iter().find(|(_, words)| words.iter().any(|word| text.contains(word)));
        row.map(|(kind, _)| *kind)
    };
    if text.starts_with("connection error") {
        return found(CONNECTION).unwrap_or(FailureKind::Connection);
    }
    if text.starts_with("connection timed out") && text.contains("through the proxy") {
        return FailureKind::ProxyRefused;
    }
    let timed_out = ["connection timed out", "request timed out", "stream timed out"];
    if timed_out.iter().any(|start| text.starts_with(start)) {
        return FailureKind::TimedOut;
    }
    if reading.status.is_none()
        && let Some(kind) = found(LOCAL)
    {
        return kind;
    }
    if reading.status == Some(407) {
        return FailureKind::ProxyAuthentication;
    }
    if let Some(kind) = found(WORDS) {
        return kind;
    }
    by_status(reading, &text)
}

fn by_status(reading: &Reading<'_>, text: &str) -> FailureKind {
    let is_page = reading.page.is_some();
    match reading.status {
        Some(401) => FailureKind::RejectedCredential,
        Some(402) => FailureKind::NoCredit,
        Some(403) => FailureKind::Forbidden,
        Some(413) => FailureKind::TooLarge,
        Some(429) => FailureKind::RateLimit,
        Some(503 | 529) => FailureKind::Overloaded,
        Some(408 | 504 | 524) => FailureKind::TimedOut,
        Some(500..) => FailureKind::ServerError,
        Some(300..400) => FailureKind::Redirected,
        Some(404 | 405) if is_page || reading.sentence().is_none() => FailureKind::NotTheApi,
        Some(404) if text.contains("model") || text.contains("does not exist") => {
            FailureKind::UnknownModel
        }
        Some(404) => FailureKind::NotTheApi,
        Some(400..) => FailureKind::InvalidRequest,
        _ if is_page => FailureKind::NotTheApi,
        _ => FailureKind::Other,
    }
}
