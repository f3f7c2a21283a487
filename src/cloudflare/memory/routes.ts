import type { Context } from 'hono';
import { RunletError } from '../../core/base/errors.ts';
import { checkPath } from '../../core/workspace/path.ts';
import { readConfig } from '../config/config.ts';
import {
	askMemory,
	changeMemory,
	listAllMemories,
	type MemoryApi,
	type MemoryHolder,
	type MemoryRecord,
	showMemory,
} from '../objects/memory/api.ts';
import { getListedOwner, getOwner, type RouteEnv } from '../routes/identity.ts';
import { accepts, mount, readCondition } from '../routes/request.ts';
import { toStream } from '../routes/respond.ts';
import * as endpoints from '../wire/endpoints/memories.ts';

type Ctx = Context<RouteEnv>;

/** `/v1/memories`: the memories of an owner and its users (docs/memory.md). */
export const memoryRoutes = [
	mount(endpoints.listMemories, async (c) => {
		const { user, owner, query, cursor, limit } = c.req.valid('query');
		const holder = { owner: getListedOwner(c, owner), user };
		if (accepts(c, 'application/x-ndjson')) return exportLines(c, holder);
		if (query !== undefined) {
			const found = await ask(c, holder, (one) => one.search(query, limit));
			return c.json({ memories: found.map(showMemory) });
		}
		const page = await ask(c, holder, (one) => one.list({ cursor, limit }));
		return c.json({ memories: page.memories.map(showMemory), cursor: page.cursor });
	}),
	mount(endpoints.eraseMemories, async (c) => {
		await ask(c, findHolder(c, c.req.valid('query').user), (one) => one.erase());
		return c.body(null, 204);
	}),
	mount(endpoints.getMemory, async (c) => {
		const path = readPath(c);
		const { user, owner } = c.req.valid('query');
		const memory = await ask(c, { owner: getListedOwner(c, owner), user }, (one) => one.get(path));
		if (memory === undefined) throw noSuchMemory();
		return c.json(showMemory(memory), 200, toTag(memory));
	}),
	mount(endpoints.putMemory, async (c) => {
		const holder = findHolder(c, c.req.valid('query').user);
		const change = { path: readPath(c), ...c.req.valid('json'), ...readCondition(c), source: { via: 'http' } } as const;
		const { memory, isNew } = await changeMemory(readConfig(c.env).memories, holder, (one) => one.put(change));
		return c.json(showMemory(memory), isNew ? 201 : 200, toTag(memory));
	}),
	mount(endpoints.deleteMemory, async (c) => {
		const holder = findHolder(c, c.req.valid('query').user);
		const path = readPath(c);
		const { ifMatch = '*' } = readCondition(c);
		await changeMemory(readConfig(c.env).memories, holder, (one) => one.removeIf(path, ifMatch));
		return c.body(null, 204);
	}),
];

function findHolder(c: Ctx, user: string | undefined): MemoryHolder {
	return { owner: getOwner(c), user };
}

function ask<T>(c: Ctx, holder: MemoryHolder, call: (one: MemoryApi) => Promise<T>): Promise<T> {
	return askMemory(readConfig(c.env).memories, holder, call, true);
}

function readPath(c: Ctx): string {
	return checkPath(c.req.param('memory') ?? '');
}

function exportLines(c: Ctx, holder: MemoryHolder): Response {
	return new Response(toStream(writeLines(c, holder)), {
		headers: {
			'content-type': 'application/x-ndjson',
			'content-disposition': 'attachment; filename="memories.ndjson"',
			'cache-control': 'no-store',
			vary: 'accept',
		},
	});
}

async function* writeLines(c: Ctx, holder: MemoryHolder) {
	const all = listAllMemories(readConfig(c.env).memories, holder);
	for await (const memory of all) yield `${JSON.stringify(showMemory(memory))}\n`;
}

function toTag({ version }: MemoryRecord): { readonly etag: string } {
	return { etag: `"${version}"` };
}

function noSuchMemory(): RunletError {
	return new RunletError('not_found', 'There is no such memory.');
}
