import { toolbox, type WebOptions } from '../../../../src/core/index.ts';

type Answer = Response | string | (() => Response | Promise<Response>);

/** A web with these answers by address. It records its requests. An address without an answer is unreachable. */
export function createWeb(answers: Readonly<Record<string, Answer>>) {
	const asked: { readonly url: string; readonly init: RequestInit | undefined }[] = [];
	const fetch: typeof globalThis.fetch = async (input, init) => {
		const url = String(input instanceof Request ? input.url : input);
		asked.push({ url, init });
		const answer = answers[url];
		if (answer === undefined) throw new TypeError('no such host');
		if (typeof answer === 'string') return new Response(answer, { headers: { 'content-type': 'text/html' } });
		return typeof answer === 'function' ? answer() : answer.clone();
	};
	return { asked, fetch, urls: () => asked.map(({ url }) => url) };
}

/** Calls the tools that read the web, with a `fetch` of the test. */
export function callWeb(answers: Readonly<Record<string, Answer>>, options: WebOptions = {}) {
	const web = createWeb(answers);
	const box = toolbox.build(toolbox.webTools(options), {
		web: { search: { url: 'https://search.example/?q={query}' } },
	});
	const perform = (
		name: string,
		args: Readonly<Record<string, unknown>>,
		more: Parameters<typeof toolbox.perform>[3] = {},
	) => toolbox.perform(name, args, box, { fetch: web.fetch, ...more });
	return {
		...web,
		box,
		read: async (url: string, page?: number) => {
			const outcome = await perform('web_fetch', page === undefined ? { url } : { url, page });
			if (outcome.ok) return outcome.value;
			throw new Error(`${outcome.error.kind}: ${outcome.error.message}`);
		},
		/** Returns the error message for a page that cannot be read. */
		fail: async (url: string, page?: number) => {
			const outcome = await perform('web_fetch', page === undefined ? { url } : { url, page });
			if (outcome.ok) throw new Error(`it did not fail: ${JSON.stringify(outcome.value)}`);
			return outcome.error.message;
		},
		perform,
	};
}
