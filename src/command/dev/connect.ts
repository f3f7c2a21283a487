/**
 * Connects a model from the page of `npm start` (docs/models.md, "On the page"): checks a key at its provider, and writes
 * it to the file of variables. Only the own page, on this machine, may ask for it.
 */

import type { IncomingMessage } from 'node:http';
import { basename } from 'node:path';
import { connectPath } from '../../client/connect.ts';
import { isOwnPage } from '../../cloudflare/auth/local.ts';
import { RunletError } from '../../core/base/errors.ts';
import { parseAccess } from './connect/access.ts';
import { listModels } from './connect/check.ts';
import { writeVariables } from './connect/variables-file.ts';

export interface ConnectOptions {
	readonly basePath: string;
	/** Finds the file that gets the variables. */
	readonly findFile: () => string;
	/** Whether the command line sets the variable `MODEL`, which then has precedence over the file. */
	readonly hasModel: boolean;
}

const mostBytes = 8_192;

/** Returns the answer to a request for the path of models. Returns undefined for other requests. */
export async function answerConnect(req: IncomingMessage, options: ConnectOptions): Promise<Response | undefined> {
	const [path = ''] = (req.url ?? '').split('?');
	if (path !== `${options.basePath}${connectPath}`) return undefined;
	const file = options.findFile();
	const connectable = { file: basename(file) };
	if (req.method === 'GET') return Response.json(connectable);
	assertFromPage(req);
	const { model, ...access } = parseAccess(await readJson(req));
	if (req.method === 'POST') return Response.json({ models: await listModels(access) });
	if (req.method !== 'PUT') throw new RunletError('method_not_allowed', 'Expected GET, POST or PUT.');
	if (model === undefined || model === '') throw new RunletError('invalid_request', 'model: choose one.');
	if (options.hasModel)
		throw new RunletError(
			'conflict',
			'The option --var MODEL:… of this start has precedence over the file. Start again without it.',
		);
	const { name, baseUrl: usual } = access.provider;
	// The address is always written with its key, so that no other address ever gets a key that was stored before.
	writeVariables(file, {
		[`${name}_API_KEY`]: access.key,
		[`${name}_BASE_URL`]: access.baseUrl === usual && name !== 'OLLAMA' ? undefined : access.baseUrl,
		MODEL: model,
	});
	return Response.json(connectable);
}

/**
 * Refuses pages of others, and programs that are no browser. A browser sends `Origin` with each POST and PUT, and does not
 * let a page choose it. A form of another page cannot send JSON.
 */
function assertFromPage({ headers }: IncomingMessage): void {
	const { origin, host = '', 'content-type': type = '', 'sec-fetch-site': site = 'same-origin' } = headers;
	const isOwn = origin !== undefined && isOwnPage(origin, `http://${host}`);
	if (isOwn && site === 'same-origin' && /^application\/json\b/i.test(type)) return;
	throw new RunletError('forbidden', 'Only the page of this server can connect a model.');
}

async function readJson(req: IncomingMessage): Promise<unknown> {
	const chunks: Buffer[] = [];
	let length = 0;
	for await (const chunk of req.iterator({ destroyOnReturn: false })) {
		length += chunk.length;
		if (length > mostBytes) throw new RunletError('too_large', 'The body is too long.');
		chunks.push(chunk);
	}
	try {
		return JSON.parse(Buffer.concat(chunks).toString('utf8'));
	} catch {
		throw new RunletError('invalid_request', 'body: expected JSON.');
	}
}
