// fetch over the program's HTTP client.

const native = require("native:http");
const { Request, createResponse, NULL_BODY } = require("pi:request");
const { Headers } = require("pi:headers");
const { take } = require("pi:body");
const { ReadableStream } = require("pi:readable-stream");

/** Returns the error that fetch rejects with when the network fails. */
function failed(cause) {
	return new TypeError("fetch failed", { cause });
}

/** Sends the chunks of a stream as the body of a request. */
async function sendBody(id, stream) {
	const reader = stream.getReader();
	try {
		for (;;) {
			const { value, done } = await reader.read();
			if (done) break;
			if (!(value instanceof Uint8Array)) throw new TypeError("Received non-Uint8Array chunk");
			if (!(await native.sendChunk(id, value))) {
				await reader.cancel();
				return;
			}
		}
		native.endBody(id);
	} catch (error) {
		native.cancel(id);
		throw error;
	}
}

/** Returns a stream over the body of a response: a chunk is read when a reader asks for it. */
function bodyStream(id, signal) {
	let stop;
	return new ReadableStream({
		type: "bytes",
		start(controller) {
			stop = () => {
				native.cancel(id);
				controller.error(signal.reason);
			};
			signal.addEventListener("abort", stop, { once: true });
		},
		async pull(controller) {
			let chunk;
			try {
				chunk = await native.readChunk(id);
			} catch (error) {
				signal.removeEventListener("abort", stop);
				throw signal.aborted ? signal.reason : Object.assign(new TypeError("terminated"), { cause: error });
			}
			if (chunk === null || chunk === undefined) {
				signal.removeEventListener("abort", stop);
				controller.close();
			} else controller.enqueue(chunk);
		},
		cancel() {
			signal.removeEventListener("abort", stop);
			native.cancel(id);
		},
	});
}

/** Fetches a data: or blob: URL. */
function fetchLocal(request) {
	const match = /^data:([^,]*?)(;base64)?,(.*)$/s.exec(request.url);
	if (match === null) throw failed(new Error(`unknown scheme: ${new URL(request.url).protocol}`));
	const [, type, isBase64, text] = match;
	const decoded = decodeURIComponent(text);
	const bytes = isBase64 ? Buffer.from(decoded, "base64") : new TextEncoder().encode(decoded);
	const headers = new Headers({ "content-type": type || "text/plain;charset=US-ASCII" });
	return createResponse(bytes, { status: 200, statusText: "OK", type: "basic", url: request.url, headers });
}

const REDIRECTS = [301, 302, 303, 307, 308];

/** Returns the names and values to send: what the caller set, and what Node adds. */
function headersOf(request) {
	const headers = [...request.headers];
	const add = (name, value) => { if (!request.headers.has(name)) headers.push([name, value]); };
	add("accept", "*/*");
	add("accept-language", "*");
	add("sec-fetch-mode", "cors");
	add("user-agent", "node");
	return headers;
}

/** Sends one request and resolves with the head of its response. */
async function exchange(id, request, source) {
	const { hostname, port, protocol } = new URL(request.url);
	const options = {
		url: request.url, host: hostname, port: Number(port) || (protocol === "https:" ? 443 : 80),
		method: request.method, headers: headersOf(request), isStream: source?.stream !== undefined,
	};
	const sending = native.send(id, options, source?.bytes);
	if (!options.isStream) return sending;
	// The answer may come before the end of the body; only a failure of the body matters.
	const upload = sendBody(id, source.stream).then(() => new Promise(() => {}));
	return Promise.race([sending, upload]);
}

/** Returns the request that follows a redirect. */
function redirected(request, source, status, target) {
	const isGet = (status === 303 && request.method !== "HEAD") || ((status === 301 || status === 302) && request.method === "POST");
	if (!isGet && source?.stream !== undefined) throw failed(new Error("a streamed body cannot be sent again"));
	const headers = new Headers(request.headers);
	if (isGet) for (const name of ["content-type", "content-length", "content-encoding", "content-language", "content-location"]) headers.delete(name);
	if (target.origin !== new URL(request.url).origin) for (const name of ["authorization", "proxy-authorization", "cookie", "host"]) headers.delete(name);
	return { request: { url: target.href, method: isGet ? "GET" : request.method, headers }, source: isGet ? null : source };
}

/** Follows redirects up to the final response. */
async function follow(first, source, state) {
	let current = { request: { url: first.url, method: first.method, headers: first.headers }, source };
	for (let count = 0; ; count++) {
		state.id = native.open();
		const head = await exchange(state.id, current.request, current.source);
		const location = head.headers.find(([name]) => name === "location")?.[1];
		const isRedirect = REDIRECTS.includes(head.status) && location !== undefined;
		if (!isRedirect || first.redirect === "manual") return { head, url: current.request.url, redirected: count > 0, id: state.id };
		native.cancel(state.id);
		if (first.redirect === "error") throw failed(new Error("unexpected redirect"));
		if (count >= 20) throw failed(new Error("redirect count exceeded"));
		let target;
		try {
			target = new URL(location, current.request.url);
			target.hash ||= new URL(current.request.url).hash;
		} catch (error) {
			throw failed(error);
		}
		if (!/^https?:$/.test(target.protocol)) throw failed(new Error("URL scheme must be a HTTP(S) scheme"));
		current = redirected(current.request, current.source, head.status, target);
	}
}

/** Ends exchanges whose body is never read. */
const abandoned = new FinalizationRegistry((id) => native.cancel(id));

async function fetch(input, init = undefined) {
	const request = new Request(input, init);
	const { signal } = request;
	signal.throwIfAborted();
	if (!/^https?:/.test(request.url)) return fetchLocal(request);
	const source = take(request);
	const state = { id: undefined };
	const aborted = Promise.withResolvers();
	aborted.promise.catch(() => {});
	const stop = () => {
		native.cancel(state.id);
		aborted.reject(signal.reason);
	};
	signal.addEventListener("abort", stop, { once: true });
	let result;
	try {
		result = await Promise.race([follow(request, source, state), aborted.promise]);
	} catch (error) {
		if (signal.aborted) throw signal.reason;
		if (error instanceof TypeError) throw error;
		throw failed(error);
	} finally {
		signal.removeEventListener("abort", stop);
	}
	const { head, url, id } = result;
	const hasBody = request.method !== "HEAD" && !NULL_BODY.includes(head.status);
	const body = hasBody ? bodyStream(id, signal) : null;
	if (hasBody) abandoned.register(body, id);
	else native.cancel(id);
	const headers = new Headers();
	for (const [name, value] of head.headers) headers.append(name, value);
	return createResponse(body, { status: head.status, statusText: head.statusText, headers, url: url.split("#")[0], redirected: result.redirected, type: "basic" });
}

module.exports = { fetch };
