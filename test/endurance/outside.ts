import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import * as v from 'valibot';
import { createEffects, type Effects } from './effects.ts';
import { createSignals } from './signals.ts';
import { createUpstream, type UpstreamOptions } from './upstream.ts';

export interface OutsideOptions extends UpstreamOptions {
	/** How long a tool works, in milliseconds. */
	readonly toolMs: number;
	/** The page of the web that tools read. */
	readonly page?: string;
	/** A counter of effects that the caller shares. Default: a new counter. */
	readonly effects?: Effects;
}

const point = v.object({ point: v.string(), session: v.string() });

export type Point = v.InferOutput<typeof point>;

/**
 * Everything outside of the Worker, on its own port in this process, so that it survives the kills: the model, the effects
 * of tools, and the answers at crash points.
 */
export async function startOutside({ toolMs, page = '', effects = createEffects(), ...options }: OutsideOptions) {
	const upstream = createUpstream(options);
	const ends = createSignals();
	let onPoint: (point: Point) => void | Promise<void> = () => {};

	const routes: Readonly<Record<string, (body: unknown, response: ServerResponse) => Promise<unknown>>> = {
		'/v1/chat/completions': upstream.answer,
		'/page': async (_, response) => response.setHeader('content-type', 'text/html').end(page),
		'/effect': async (body, response) => {
			effects.take(body);
			await pause(toolMs);
			response.end('"done"');
		},
		'/point': async (body, response) => {
			const at = v.parse(point, body);
			if (at.point === 'ended') ends.give(at.session);
			await onPoint(at);
			response.end();
		},
	};
	const failures: unknown[] = [];
	const server = createServer(async (request, response) => {
		try {
			// A kill may close the connection at any moment, which is no error of the programme.
			response.on('error', () => {});
			const route = routes[request.url ?? ''];
			if (route === undefined) throw new Error(`nothing is at ${request.url}`);
			await route(await readJson(request), response);
		} catch (error) {
			if (!request.destroyed || request.complete) failures.push(error);
			response.destroy();
		}
	});
	// A connection that closes during a request would look like an error of the model.
	server.keepAliveTimeout = 600_000;
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	const address = server.address();
	if (address === null || typeof address === 'string') throw new Error('the outside has no port');
	return {
		url: `http://127.0.0.1:${address.port}`,
		upstream,
		effects,
		/** Resolves when a session's run has stored its end, without a request to the session. */
		ended: (session: string): Promise<void> => ends.of(session),
		/** Handles a run at a crash point. The run continues after the handler's answer. */
		atPoint: (handler: typeof onPoint): void => {
			onPoint = handler;
		},
		close: async (): Promise<void> => {
			server.closeAllConnections();
			server.close();
			await once(server, 'close');
			if (failures.length > 0) throw failures[0];
		},
	};
}

async function readJson(request: IncomingMessage): Promise<unknown> {
	const chunks: Uint8Array[] = [];
	for await (const chunk of request) if (chunk instanceof Uint8Array) chunks.push(chunk);
	const text = Buffer.concat(chunks).toString('utf8');
	return text === '' ? undefined : JSON.parse(text);
}
