import type { Context } from 'hono';
import { check } from '../../core/base/check.ts';
import { RunletError } from '../../core/base/errors.ts';
import type { RouteEnv } from '../routes/identity.ts';
import { mount } from '../routes/request.ts';
import { runFailureResponse } from '../wire/protocols/openai/error.ts';
import * as endpoints from '../wire/protocols/responses/endpoints.ts';
import { type ResponseRequest, responseRequest } from '../wire/protocols/responses/schema.ts';

const order = `Write a summary of the conversation so far for somebody who goes on with it and has not read it. \
Keep facts, names, numbers, decisions and open tasks. Call no tools. Answer with the summary only.`;

interface Item {
	readonly type: string;
	readonly content?: readonly { readonly text?: string }[];
}

interface Made {
	readonly id: string;
	readonly created_at: number;
	readonly output: readonly Item[];
	readonly usage: unknown;
}

/**
 * `POST /v1/responses/compact`: lets the agent write a summary, which stands for the conversation in a later request
 * (docs/responses.md, "Compaction").
 *
 * @param respond answers a request for a response
 */
export function createCompactRoute(respond: (c: Context<RouteEnv>, body: ResponseRequest) => Promise<Response>) {
	return mount(endpoints.compact, async (c) => {
		const { input, ...rest } = c.req.valid('json');
		const items = typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input;
		const all = [...items, { type: 'message', role: 'user', content: order }];
		const answer = await respond(c, check(responseRequest, { ...rest, input: all, store: false }, 'body'));
		if (!answer.ok) return answer;
		const { id, created_at, output, usage }: Made = await answer.json();
		const said = output.findLast(({ type }) => type === 'message')?.content?.map(({ text = '' }) => text);
		const summary = said?.join('') ?? '';
		if (summary === '') return runFailureResponse(new RunletError('failed', 'The agent wrote no summary.'));
		const item = { id: id.replace('resp', 'cmp'), type: 'compaction', encrypted_content: summary };
		const compaction = { id, object: 'response.compaction', created_at, output: [item], usage };
		return Response.json(compaction, { headers: answer.headers });
	});
}
