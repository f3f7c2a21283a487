import type { Context } from 'hono';
import * as v from 'valibot';
import { RunletError } from '../../core/base/errors.ts';
import {
	type KvResolverOptions,
	kvResolver,
	toMarkdown,
	type Violation,
	validateMarkdown,
} from '../../core/skill/index.ts';
import {
	bodyKey,
	bodySchema,
	type Entry,
	indexKey,
	noSkills,
	readSkillSet,
	readWholeSet,
	type SkillSet,
} from '../../core/skill/kv/layout.ts';
import { toEtag } from '../../core/skill/kv/plan.ts';
import { findEntry, listEntries, readLeaf } from '../../core/skill/kv/shards.ts';
import { readConfig } from '../config/config.ts';
import { log } from '../log.ts';
import { type Condition, type Outcome, type PublisherApi, publishedPrefix } from '../objects/publisher/api.ts';
import { reach } from '../objects/reach.ts';
import * as endpoints from '../wire/endpoints/skills.ts';
import type { Shown } from '../wire/operation.ts';
import type { listedSkill } from '../wire/skill.ts';
import type { RouteEnv } from './identity.ts';
import { accepts, isFresh, markdownBody, mount, readCondition } from './request.ts';

/** `/v1/skills`: lists, reads and edits the published skills (docs/skills.md). */
export const skillRoutes = [
	mount(endpoints.listSkills, async (c) => {
		const { query, cursor = '', limit } = c.req.valid('query');
		const published = await readPublished(c);
		if (query !== undefined) return c.json({ skills: await toFoundSkills(c, published, query, limit) });
		const { set, read } = published;
		const rest = await listEntries(set, { after: cursor, limit: limit + 1 }, read);
		const page = rest.slice(0, limit);
		return c.json({
			skills: await Promise.all(page.map(wireEntry)),
			...(rest.length > page.length && { cursor: page.at(-1)?.name }),
		});
	}),
	mount(endpoints.getSkill, async (c) => {
		const { set, read } = await readPublished(c);
		const entry = await findEntry(set, c.req.param('name'), read);
		if (entry === undefined) throw noSuchSkill();
		if (entry === null) throw notReadable(c.req.param('name'));
		const etag = await toEtag(entry);
		c.header('etag', `"${etag}"`);
		c.header('vary', 'accept');
		if (isFresh(c, etag)) return c.body(null, 304);
		const stored = await readConfig(c.env).skills.get(bodyKey(publishedPrefix, entry.hash), 'json');
		const content = v.safeParse(bodySchema, stored);
		if (!content.success) {
			logProblem('', 'text_missing', entry.name);
			throw notReadable(entry.name);
		}
		if (!accepts(c, 'text/markdown')) return c.json({ ...(await wireEntry(entry)), ...content.output });
		return c.body(toMarkdown({ ...entry, files: undefined, ...content.output }), 200, {
			'content-type': 'text/markdown; charset=utf-8',
		});
	}),
	mount(endpoints.putSkill, async (c) => {
		const name = c.req.param('name');
		const condition = readCondition(c);
		const markdown = await markdownBody(c.req.raw);
		const violations = validateMarkdown(markdown, { directory: name });
		const first = violations.find(({ severity }) => severity === 'error');
		if (first !== undefined) {
			const more = violations.length > 1 ? ` (and ${violations.length - 1} more, in data.violations)` : '';
			throw new RunletError('invalid_skill', `body: ${first.message}${more}.`, {
				field: first.field,
				violations: violations.slice(0, mostViolations),
			});
		}
		return answer(c, await publish(c, (one) => one.put(name, markdown, condition)), condition, violations);
	}),
	mount(endpoints.deleteSkill, async (c) => {
		const condition = readCondition(c);
		return answer(c, await publish(c, (one) => one.remove(c.req.param('name'), condition)), condition);
	}),
];

type Ctx = Context<RouteEnv>;

const mostViolations = 100;

/** The time limit of a change in milliseconds. It is long, because KV accepts one write of the index per second. */
const publishLimitMs = 60_000;

function publish(c: Ctx, ask: (one: PublisherApi) => Promise<Outcome>): Promise<Outcome> {
	const { publishers } = readConfig(c.env);
	const call = () => ask(publishers.get(publishers.idFromName(publishedPrefix)));
	return reach(call, { what: 'What publishes skills', isSafe: false, timeoutMs: publishLimitMs });
}

interface Published {
	readonly set: SkillSet;
	/** Reads a leaf of a set with shards, once. */
	readonly read: (hash: string) => Promise<ReadonlyMap<string, Entry> | undefined>;
}

async function readPublished(c: Ctx): Promise<Published> {
	const { skills: kv } = readConfig(c.env);
	const report = (message: string, skill?: string) => logProblem(message, 'entry_invalid', skill);
	const set = readSkillSet(await kv.get(indexKey(publishedPrefix), 'json'), report) ?? noSkills;
	const leaves = new Map<string, ReturnType<Published['read']>>();
	const read = (hash: string) => {
		const reading = leaves.get(hash) ?? readLeaf(publishedPrefix, hash, (key) => kv.get(key, 'json'), report);
		leaves.set(hash, reading);
		return reading;
	};
	return { set: await readWholeSet(kv, publishedPrefix, set), read };
}

function notReadable(name: string): RunletError {
	return new RunletError('overloaded', `The text of the skill ${name} cannot be read yet. Try again in a minute.`);
}

const logProblem: NonNullable<KvResolverOptions['onProblem']> = (_, problem, skill) =>
	log('warn', 'skills.problem', { 'runlet.skill.name': skill, 'error.type': problem });

/** Searches by words, without a model. The search needs no key and costs nothing. */
async function toFoundSkills(c: Ctx, { set, read }: Published, query: string, limit: number) {
	const { skills: kv, local } = readConfig(c.env);
	const resolver = kvResolver(kv, { prefix: publishedPrefix, onProblem: logProblem, ...(local && { cacheMs: 0 }) });
	const skills: readonly { readonly name: string; readonly score?: number }[] =
		(await resolver.searchFn?.(query, { limit })) ?? [];
	const found = skills.map(async ({ name, score }) => {
		const entry = await findEntry(set, name, read);
		return entry ? { ...(await wireEntry(entry)), score } : [];
	});
	return (await Promise.all(found)).flat();
}

async function wireEntry(entry: Entry): Promise<Shown<typeof listedSkill>> {
	const { hash: _, files: __, shared: ___, ...listed } = entry;
	return { ...listed, etag: await toEtag(entry) };
}

function answer(c: Ctx, result: Outcome, { ifMatch }: Condition, violations: readonly Violation[] = []): Response {
	const warnings = violations.length > 0 ? { warnings: violations.slice(0, mostViolations) } : {};
	switch (result.outcome) {
		case 'created':
		case 'replaced':
			c.header('etag', `"${result.etag}"`);
			return c.json(
				{ name: c.req.param('name'), etag: result.etag, ...warnings },
				result.outcome === 'created' ? 201 : 200,
			);
		case 'removed':
			return c.body(null, 204);
		case 'missing':
			throw noSuchSkill();
		case 'unconditional':
			throw new RunletError(
				'precondition_required',
				'If-Match: missing. This skill is there already: read it with GET, and send the ETag that you got as If-Match to replace just that.',
				{ field: 'If-Match', etag: result.etag },
			);
		case 'refused': {
			const field =
				ifMatch === undefined || (ifMatch === '*' && result.etag !== undefined) ? 'If-None-Match' : 'If-Match';
			const message = result.etag === undefined ? 'there is no such skill' : 'somebody else has changed this skill';
			throw new RunletError(
				'precondition_failed',
				field === 'If-Match'
					? `If-Match: ${message}. Nothing was changed. Read it again with GET, which may take a minute to show a change.`
					: 'If-None-Match: this skill is there already. Nothing was changed.',
				{ field, etag: result.etag },
			);
		}
		case 'failed':
			throw new RunletError('overloaded', 'Skills could not be written to KV. Try again in a moment.');
	}
}

function noSuchSkill(): RunletError {
	return new RunletError('not_found', 'There is no such skill.');
}
