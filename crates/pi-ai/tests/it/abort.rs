//! Abort: at any point, at once, on the wire, and with what was gathered.

use pi_ai::{
    AssistantEvent, CancelToken, Context, Provider, Request, RetryOptions, StopReason,
    StreamOptions,
};

use crate::hostile::{APIS, beginning, client, model};
use crate::server::{Server, Step, response, stream_head};

fn request(api: &str, url: &str) -> Request {
    Request {
        model: model(api, url),
        context: Context::new().user("hi"),
        options: StreamOptions::default(),
    }
}

#[tokio::test]
async fn before_anything_was_sent() {
    let server = Server::play(vec![]).await;
    let cancel = CancelToken::new();
    cancel.cancel();
    let mut stream = client().stream_request(request(APIS[0], &server.url()), cancel);
    assert_eq!(stream.next().await, Some(AssistantEvent::Error { reason: StopReason::Aborted }));
    assert_eq!(stream.next().await, None);
    assert_eq!(stream.message().error_message.as_deref(), Some("Request was aborted"));
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn while_waiting_for_the_answer() {
    for api in APIS {
        let mut server = Server::play(vec![vec![Step::UntilGone]]).await;
        let cancel = CancelToken::new();
        let stream = client().stream_request(request(api, &server.url()), cancel.clone());
        let waiting = tokio::spawn(stream.result());
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
        let message = waiting.await.unwrap();
        assert_eq!(message.stop_reason, StopReason::Aborted, "{api}");
        server.client_gone().await;
    }
}

#[tokio::test]
async fn in_the_middle_of_the_answer() {
    for api in APIS {
        let script = vec![
            Step::Send(stream_head()),
            Step::Send(beginning(api).as_bytes().to_vec()),
            Step::UntilGone,
        ];
        let mut server = Server::play(vec![script]).await;
        let cancel = CancelToken::new();
        let mut stream = client().stream_request(request(api, &server.url()), cancel.clone());
        while stream.message().text() != "Hel" {
            stream.next().await.unwrap();
        }
        cancel.cancel();
        // The connection ends although nobody asks the stream for more.
        server.client_gone().await;
        let message = stream.result().await;
        assert_eq!(message.stop_reason, StopReason::Aborted, "{api}");
        assert_eq!(message.text(), "Hel", "{api}");
    }
}

#[tokio::test]
async fn while_waiting_to_try_again() {
    let refusal = response("429 Too Many Requests", &[("retry-after", "50")], "");
    let server = Server::answer(refusal).await;
    let mut request = request(APIS[1], &server.url());
    request.options.retry = RetryOptions { max_retries: 1, ..RetryOptions::default() };
    let cancel = CancelToken::new();
    let waiting = tokio::spawn(client().stream_request(request, cancel.clone()).result());
    while server.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    cancel.cancel();
    assert_eq!(waiting.await.unwrap().stop_reason, StopReason::Aborted);
}

#[tokio::test]
async fn dropping_the_stream_ends_the_request_too() {
    let script = vec![
        Step::Send(stream_head()),
        Step::Send(beginning(APIS[1]).as_bytes().to_vec()),
        Step::UntilGone,
    ];
    let mut server = Server::play(vec![script]).await;
    let mut stream = client().stream_request(request(APIS[1], &server.url()), CancelToken::new());
    stream.next().await.unwrap();
    drop(stream);
    server.client_gone().await;
}

/// `Client` has its own `stream`; here the trait's is meant.
trait StreamRequest {
    fn stream_request(&self, request: Request, cancel: CancelToken) -> pi_ai::AssistantStream;
}

impl StreamRequest for pi_ai::Client {
    fn stream_request(&self, request: Request, cancel: CancelToken) -> pi_ai::AssistantStream {
        Provider::stream(self, request, cancel)
    }
}
