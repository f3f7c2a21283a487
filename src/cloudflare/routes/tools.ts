import type { Context } from 'hono';
import { RunletError } from '../../core/base/errors.ts';
import { openKept, sealSecrets } from '../agent/registered-secrets.ts';
import { assertToolName, listKeptSecrets, type ToolBody, toStoredTool } from '../agent/user-tools/definition.ts';
import { readStoredTool } from '../agent/user-tools/load.ts';
import { readConfig } from '../config/config.ts';
import { askRegistry, changeEntry, type Entry, type RegistryApi } from '../objects/directory/registry.ts';
import * as endpoints from '../wire/endpoints/tools.ts';
import type { Shown } from '../wire/operation.ts';
import type { shownTool } from '../wire/tool.ts';
import { getOwner, type RouteEnv } from './identity.ts';
import { mount } from './request.ts';

type Ctx = Context<RouteEnv>;

const mostTools = 100;

/** `/v1/tools`: the HTTP tools that an owner defines (docs/user-tools.md). */
export const toolRoutes = [
	mount(endpoints.listTools, async (c) => {
		const entries = await ask(c, (one) => one.listEntries('tool'));
		return c.json({ tools: entries.map((entry) => toShown(entry)) });
	}),
	mount(endpoints.getTool, async (c) => {
		const entry = await ask(c, (one) => one.getEntry('tool', c.req.param('name')));
		if (entry === undefined) throw noSuchTool();
		return c.json(toShown(entry));
	}),
	mount(endpoints.putTool, async (c) => {
		const name = c.req.param('name');
		assertToolName(name);
		const isNew = await putTool(c, name, c.req.valid('json'));
		const entry = await ask(c, (one) => one.getEntry('tool', name));
		if (entry === undefined) throw noSuchTool();
		return c.json(toShown(entry), isNew ? 201 : 200);
	}),
	mount(endpoints.deleteTool, async (c) => {
		if (!(await ask(c, (one) => one.removeEntry('tool', c.req.param('name'))))) throw noSuchTool();
		return c.body(null, 204);
	}),
];

function ask<T>(c: Ctx, call: (one: RegistryApi) => Promise<T>): Promise<T> {
	return askRegistry(readConfig(c.env).directories, getOwner(c), call);
}

/** Stores a tool. Returns whether the name is new. */
async function putTool(c: Ctx, name: string, body: ToolBody): Promise<boolean> {
	const config = readConfig(c.env);
	const about = { owner: getOwner(c), kind: 'tool', name } as const;
	let isNew = false;
	const place = { kind: 'tool', name, most: mostTools } as const;
	await changeEntry(config.directories, about.owner, place, async (before) => {
		isNew = before === undefined;
		const wanted = before === undefined ? [] : listKeptSecrets(readStoredTool(before), body);
		const secrets = { ...(await openKept(config, about, before, wanted)), ...body.secrets };
		const stored = toStoredTool(name, body, { secrets, allowLoopback: config.local !== undefined });
		return { definition: JSON.stringify(stored), sealed: await sealSecrets(config, about, secrets) };
	});
	return isNew;
}

function toShown(entry: Entry): Shown<typeof shownTool> {
	const { name, createdAt, updatedAt } = entry;
	return {
		name,
		...readStoredTool(entry),
		createdAt: new Date(createdAt).toISOString(),
		updatedAt: new Date(updatedAt).toISOString(),
	};
}

function noSuchTool(): RunletError {
	return new RunletError('not_found', 'There is no such tool.');
}
