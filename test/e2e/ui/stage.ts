import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { Miniflare } from 'miniflare';
import type { ProviderCall, Source } from '../../../src/core/chat/provider-tool.ts';
import { readWorkerOptions } from '../../bundle.ts';

/** The model's output: a text, or pieces one after another. */
export type Line =
	| { readonly type: 'text' | 'reasoning'; readonly text: string }
	| { readonly type: 'call'; readonly id: string; readonly name: string; readonly input: object }
	| {
			readonly type: 'usage';
			readonly inputTokens: number;
			readonly outputTokens: number;
			readonly costUsd?: number;
			readonly units?: Readonly<Record<string, number>>;
	  }
	| ({ readonly type: 'provider_tool' } & ProviderCall)
	| ({ readonly type: 'source' } & Source)
	| { readonly type: 'fail'; readonly message: string; readonly status?: number; readonly retryAfter?: number };

/** A turn of the model: fixed lines, or a function that writes the lines. */
export type StagedTurn = readonly Line[] | ((turn: OpenTurn) => void | Promise<void>);

/** A turn that the test writes piece by piece. */
export interface OpenTurn {
	say(...lines: readonly Line[]): void;
	/** Resolves when the client disconnects. */
	readonly left: Promise<unknown>;
}

/** A message in a request to the model. */
export interface Sent {
	readonly role: string;
	readonly content: unknown;
	readonly parts?: readonly object[];
}

export const text = (said: string): Line => ({ type: 'text', text: said });
export const reasoning = (said: string): Line => ({ type: 'reasoning', text: said });
export const call = (id: string, name: string, input: object = {}): Line => ({ type: 'call', id, name, input });

/**
 * Serves the real Worker over HTTP, with a model whose output the test writes. By default, the Worker runs as a
 * local Worker.
 */
export async function startStage(variables: Readonly<Record<string, string>> = { LOCAL: 'true' }) {
	let turns: StagedTurn[] = [];
	let requests: (readonly Sent[])[] = [];
	const answer = async (body: unknown, response: ServerResponse): Promise<void> => {
		const { messages } = body as { readonly messages: readonly Sent[] };
		requests.push(messages);
		const turn = turns.shift() ?? [{ type: 'fail', message: 'The script is over.' } as const];
		const open: OpenTurn = {
			say: (...lines) => void response.write(lines.map((one) => `${JSON.stringify(one)}\n`).join('')),
			left: once(response, 'close'),
		};
		response.writeHead(200, { 'content-type': 'application/x-ndjson' });
		response.flushHeaders();
		if (typeof turn === 'function') await turn(open);
		else open.say(...turn);
		response.end();
	};
	const server = createServer((request, response) => {
		json(request)
			.then((body) => answer(body, response))
			.catch(() => response.destroy());
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	const address = server.address();
	const port = typeof address === 'object' ? address?.port : 0;

	const folder = await mkdtemp(join(tmpdir(), 'runlet-ui-'));
	const options = {
		...(await readWorkerOptions('test/e2e/ui/worker.ts', folder)),
		bindings: { ...variables, STAGE: `http://127.0.0.1:${port}` },
	};
	const miniflare = new Miniflare(options);
	const url = (await miniflare.ready).origin;
	return {
		url,
		api: `${url}/v1/ui/desk`,
		/** Sets the next turns of the model. Returns the requests to the model. */
		play: (...given: readonly StagedTurn[]): readonly (readonly Sent[])[] => {
			turns = [...given];
			requests = [];
			return requests;
		},
		/** Ends the process of the Worker, and starts another one with the same storage and port. */
		restart: (): Promise<void> => miniflare.setOptions(options),
		close: async (): Promise<void> => {
			await miniflare.dispose();
			server.closeAllConnections();
			server.close();
			await rm(folder, { recursive: true, force: true });
		},
	};
}

export type Stage = Awaited<ReturnType<typeof startStage>>;
