//! Texts of failed answers and their classification.
//!
//! The bodies are those of the providers' documentation and of recorded answers, formatted by the
//! wire format of the provider.

use pi_ai::{FailureKind as K, ProviderFailure};

/// Text, kind, status and sentence.
const TEXTS: &[(&str, K, Option<u16>, &str)] = &[
    (
        r#"401 {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_1"}"#,
        K::RejectedCredential,
        Some(401),
        "invalid x-api-key",
    ),
    (
        r#"401 {"type":"error","error":{"type":"authentication_error","message":"OAuth token has expired. Please obtain a new token."}}"#,
        K::ExpiredCredential,
        Some(401),
        "OAuth token has expired. Please obtain a new token.",
    ),
    (
        r#"400 {"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}"#,
        K::NoCredit,
        Some(400),
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
    ),
    (
        r#"404 {"type":"error","error":{"type":"not_found_error","message":"model: claude-sonet-5"}}"#,
        K::UnknownModel,
        Some(404),
        "model: claude-sonet-5",
    ),
    (
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        K::Overloaded,
        None,
        "Overloaded",
    ),
    (
        r#"429 {"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed the rate limit"}}"#,
        K::RateLimit,
        Some(429),
        "This request would exceed the rate limit",
    ),
    (
        r#"400 {"type":"error","error":{"type":"invalid_request_error","message":"This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium."}}"#,
        K::InvalidRequest,
        Some(400),
        "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
    ),
    (
        r#"401: {"message":"Incorrect API key provided: sk-1.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}"#,
        K::RejectedCredential,
        Some(401),
        "Incorrect API key provided: sk-1.",
    ),
    (
        r#"OpenAI API error (429): {"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}"#,
        K::NoCredit,
        Some(429),
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    (
        r#"OpenAI API error (403): {"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported"}"#,
        K::Region,
        Some(403),
        "Country, region, or territory not supported",
    ),
    (
        r#"OpenAI API error (404): {"message":"The model `gpt-9` does not exist or you do not have access to it.","code":"model_not_found"}"#,
        K::UnknownModel,
        Some(404),
        "The model `gpt-9` does not exist or you do not have access to it.",
    ),
    (
        r#"openai API error (400): {"code":"decimal_below_min_value","message":"Invalid 'temperature': decimal below minimum value.","param":"temperature"}"#,
        K::InvalidRequest,
        Some(400),
        "Invalid 'temperature': decimal below minimum value.",
    ),
    (
        "OpenAI API error (502): 502 status code (no body)",
        K::ServerError,
        Some(502),
        "status code (no body)",
    ),
    (
        r#"OpenAI API error (403): {"message":"Usage limit","code":"subscription_sharing_usage_limit_exceeded"}"#,
        K::PlanLimit,
        Some(403),
        "Usage limit",
    ),
    (
        r#"OpenAI API error (403): {"message":"Not eligible","code":"subscription_sharing_user_not_eligible"}"#,
        K::PlanExcludes,
        Some(403),
        "Not eligible",
    ),
    (
        r#"OpenAI API error (403): {"message":"Invalid user","code":"subscription_sharing_invalid_user"}"#,
        K::RejectedCredential,
        Some(403),
        "Invalid user",
    ),
    (
        "You have hit your ChatGPT usage limit (plus plan). Try again in ~12 min.",
        K::PlanLimit,
        None,
        "You have hit your ChatGPT usage limit (plus plan). Try again in ~12 min.",
    ),
    (
        r#"404: {"type":"invalid_request_error","code":"DeploymentNotFound","message":"The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again."}"#,
        K::UnknownDeployment,
        Some(404),
        "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.",
    ),
    (
        r#"400: {"message":"The response was filtered","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}"#,
        K::ContentFilter,
        Some(400),
        "The response was filtered",
    ),
    (
        r#"429: {"message":"Provider returned error","code":429,"metadata":{"raw":"google/gemini is temporarily rate-limited upstream","provider_name":"Google"}}"#,
        K::RateLimit,
        Some(429),
        "Provider returned error: google/gemini is temporarily rate-limited upstream",
    ),
    (
        r#"402: {"message":"Insufficient credits. Add more using https://openrouter.ai/settings/credits","code":402}"#,
        K::NoCredit,
        Some(402),
        "Insufficient credits. Add more using https://openrouter.ai/settings/credits",
    ),
    (
        r#"400: {"message":"anthropic/claud is not a valid model ID","code":400}"#,
        K::UnknownModel,
        Some(400),
        "anthropic/claud is not a valid model ID",
    ),
    (
        r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#,
        K::RejectedCredential,
        Some(400),
        "API key not valid. Please pass a valid API key.",
    ),
    (
        r#"{"error":{"code":404,"message":"models/gemini-3.6-flahs is not found for API version v1beta, or is not supported for generateContent.","status":"NOT_FOUND"}}"#,
        K::UnknownModel,
        Some(404),
        "models/gemini-3.6-flahs is not found for API version v1beta, or is not supported for generateContent.",
    ),
    (
        r#"{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}"#,
        K::Quota,
        Some(429),
        "You exceeded your current quota",
    ),
    (
        r#"{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerMinutePerProject"}]}]}}"#,
        K::RateLimit,
        Some(429),
        "You exceeded your current quota",
    ),
    (
        r#"{"error":{"code":429,"message":"Resource exhausted. Please try again later.","status":"RESOURCE_EXHAUSTED"}}"#,
        K::RateLimit,
        Some(429),
        "Resource exhausted. Please try again later.",
    ),
    (
        r#"{"error":{"code":403,"message":"Vertex AI API has not been used in project 12 before or it is disabled.","status":"PERMISSION_DENIED","details":[{"reason":"SERVICE_DISABLED"}]}}"#,
        K::ApiNotEnabled,
        Some(403),
        "Vertex AI API has not been used in project 12 before or it is disabled.",
    ),
    (
        r#"{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}"#,
        K::Region,
        Some(400),
        "User location is not supported for the API use.",
    ),
    ("Provider stopped with: SAFETY", K::ContentFilter, None, "Provider stopped with: SAFETY"),
    (
        "Provider finish_reason: content_filter",
        K::ContentFilter,
        None,
        "Provider finish_reason: content_filter",
    ),
    (
        "400 The provided model identifier is invalid.",
        K::UnknownModel,
        Some(400),
        "The provided model identifier is invalid.",
    ),
    (
        "AccessDeniedException: You don't have access to the model with the specified model ID.",
        K::NoModelAccess,
        None,
        "AccessDeniedException: You don't have access to the model with the specified model ID.",
    ),
    (
        "403 The security token included in the request is invalid.",
        K::RejectedCredential,
        Some(403),
        "The security token included in the request is invalid.",
    ),
    (
        "ExpiredTokenException: The security token included in the request is expired",
        K::ExpiredCredential,
        None,
        "ExpiredTokenException: The security token included in the request is expired",
    ),
    (
        "403 User: arn:aws:iam::1:user/x is not authorized to perform: bedrock:InvokeModel",
        K::Forbidden,
        Some(403),
        "User: arn:aws:iam::1:user/x is not authorized to perform: bedrock:InvokeModel",
    ),
    (
        "Throttling error: Too many tokens, please wait before trying again.",
        K::RateLimit,
        None,
        "Throttling error: Too many tokens, please wait before trying again.",
    ),
    (
        "400 Invocation of model ID x with on-demand throughput isn\u{2019}t supported.",
        K::NeedsInferenceProfile,
        Some(400),
        "Invocation of model ID x with on-demand throughput isn\u{2019}t supported.",
    ),
    ("413 status code (no body)", K::TooLarge, Some(413), "status code (no body)"),
    ("529 status code (no body)", K::Overloaded, Some(529), "status code (no body)"),
    ("407 status code (no body)", K::ProxyAuthentication, Some(407), "status code (no body)"),
    (
        "404: <html><head><Title> Not Found </title></head>rest</html>",
        K::NotTheApi,
        Some(404),
        "an HTML page, \"Not Found\"",
    ),
    ("404 status code (no body)", K::NotTheApi, Some(404), "status code (no body)"),
    (
        "400 Client sent an HTTP request to an HTTPS server.",
        K::TlsRequired,
        Some(400),
        "Client sent an HTTP request to an HTTPS server.",
    ),
    (
        "Connection error: received corrupt message of type InvalidContentType (127.0.0.1:9)",
        K::PlainServer,
        None,
        "Connection error: received corrupt message of type InvalidContentType (127.0.0.1:9)",
    ),
    (
        "Connection error: invalid peer certificate: UnknownIssuer (api.example)",
        K::Certificate,
        None,
        "Connection error: invalid peer certificate: UnknownIssuer (api.example)",
    ),
    (
        "Connection error: failed to lookup address information: Name or service not known (api.example)",
        K::UnknownHost,
        None,
        "Connection error: failed to lookup address information: Name or service not known (api.example)",
    ),
    (
        "Connection error: proxy authorization required (proxy proxy.example:3128, for api.example)",
        K::ProxyAuthentication,
        None,
        "Connection error: proxy authorization required (proxy proxy.example:3128, for api.example)",
    ),
    (
        "Connection error: Connection refused (os error 111) (proxy proxy.example:3128, for api.example)",
        K::ProxyRefused,
        None,
        "Connection error: Connection refused (os error 111) (proxy proxy.example:3128, for api.example)",
    ),
    (
        "Connection error: Connection refused (os error 111) (127.0.0.1:9)",
        K::ConnectionRefused,
        None,
        "Connection error: Connection refused (os error 111) (127.0.0.1:9)",
    ),
    (
        "Connection timed out: api.example could not be reached through the proxy p:1 within 10 s",
        K::ProxyRefused,
        None,
        "Connection timed out: api.example could not be reached through the proxy p:1 within 10 s",
    ),
    (
        "Request timed out: no answer within 5 s",
        K::TimedOut,
        None,
        "Request timed out: no answer within 5 s",
    ),
    (
        "Stream ended without finish_reason",
        K::EndedEarly,
        None,
        "Stream ended without finish_reason",
    ),
    (
        "No API key found for groq. Set GROQ_API_KEY.",
        K::NoCredential,
        None,
        "No API key found for groq. Set GROQ_API_KEY.",
    ),
    (
        "Provider x has no API implementation for \"y\"",
        K::Unsupported,
        None,
        "Provider x has no API implementation for \"y\"",
    ),
    (
        r#"Azure OpenAI API error (401): {"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint."}"#,
        K::RejectedCredential,
        Some(401),
        "Access denied due to invalid subscription key or wrong API endpoint.",
    ),
    (
        r#"Azure OpenAI API error (404): {"type":"invalid_request_error","code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}"#,
        K::UnknownDeployment,
        Some(404),
        "The API deployment for this resource does not exist.",
    ),
    (
        r#"Mistral API error (401): {"detail":"Unauthorized"}"#,
        K::RejectedCredential,
        Some(401),
        "Unauthorized",
    ),
    (
        r#"Mistral API error (400): {"object":"error","message":"Invalid model: mistral-lage","type":"invalid_model","param":null,"code":"1500"}"#,
        K::UnknownModel,
        Some(400),
        "Invalid model: mistral-lage",
    ),
    (
        r#"Mistral API error (429): {"object":"error","message":"Requests rate limit exceeded","type":"rate_limited","param":null,"code":"1300","raw_status_code":429}"#,
        K::RateLimit,
        Some(429),
        "Requests rate limit exceeded",
    ),
    (
        r#"Mistral API error (422): {"object":"error","message":{"detail":[{"type":"missing","loc":["body","messages"],"msg":"Field required"}]},"type":"invalid_request_error","param":null,"code":null}"#,
        K::InvalidRequest,
        Some(422),
        "Field required",
    ),
    (
        "Provider stopped with: error (server error)",
        K::ServerError,
        None,
        "Provider stopped with: error (server error)",
    ),
    (
        "Mistral stream ended without a finish reason",
        K::EndedEarly,
        None,
        "Mistral stream ended without a finish reason",
    ),
    ("401: bad key (unauthorized)", K::RejectedCredential, Some(401), "bad key (unauthorized)"),
    ("402: no credit left (billing)", K::NoCredit, Some(402), "no credit left (billing)"),
    (
        "radius stream ended without a terminal event",
        K::EndedEarly,
        None,
        "radius stream ended without a terminal event",
    ),
    ("", K::Other, None, ""),
    ("{", K::Other, None, "{"),
    ("something odd", K::Other, None, "something odd"),
];

#[test]
fn texts_of_failures_are_classified() {
    let mut wrong = Vec::new();
    for (text, kind, status, detail) in TEXTS {
        let failure = ProviderFailure::of(text);
        let found = (failure.kind, failure.status, failure.detail.as_str());
        if found != (*kind, *status, *detail) {
            wrong.push(format!("{text}\n  {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_pause_that_is_too_long_is_read() {
    let text = r#"Server requested 120s retry delay (max: 60s). 429: {"message":"slow down"}"#;
    let failure = ProviderFailure::of(text);
    assert_eq!(failure.pause, Some(120));
    assert_eq!((failure.status, failure.detail.as_str()), (Some(429), "slow down"));
    assert_eq!(failure.kind, K::RateLimit);
}

proptest::proptest! {
    #[test]
    fn no_text_breaks_the_classification(text in ".{0,200}", number in 0_u32..1000) {
        let _ = ProviderFailure::of(&text);
        let _ = ProviderFailure::of(&format!("{number}: {{{text}"));
        let _ = ProviderFailure::of(&format!("x API error ({number}): <html><title>{text}"));
    }
}
