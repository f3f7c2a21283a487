/** The steps of people in the walk over money. */
import { payerNames } from './agents.ts';
import { waitShortly } from './clock.ts';
import { createPdf, createPng, createWav } from './media.ts';
import { createWords } from './plan.ts';
import { ask, type Payer, setDayCap, setUserCaps, type World } from './world.ts';

const chance = ({ random }: World, percent: number): boolean => random(1, 100) <= percent;
export const pick = <T>({ random }: World, list: readonly T[]): T | undefined => list[random(0, list.length - 1)];

/** A cap in tokens, in dollars, or in both. Some allow one request, some many. */
export function createCap(world: World): { tokens?: number; usd?: number } {
	const { random } = world;
	const tokens = random(1, 60) ** 3 * 10 + 1_000;
	const usd = random(1, 80) ** 2 / 2_000;
	return { ...(chance(world, 60) && { tokens }), ...(chance(world, 50) && { usd }) };
}

let labels = 0;

const isBounded = (cap: object): boolean => Object.keys(cap).length > 0;

/** Begins a session, with or without a user. */
export async function begin(world: World): Promise<void> {
	const user = pick(world, [undefined, 'ann', 'bob']);
	const agent = pick(world, payerNames) ?? '';
	const cap = chance(world, 60) ? createCap(world) : {};
	const body = { agent, ...(user && { user }), ...(isBounded(cap) && { budget: cap }) };
	const answer = await ask(world.owner, '/v1/sessions', body);
	if (answer?.status !== 201) throw new Error(`No session: ${answer?.text}`);
	addPayer(world, JSON.parse(answer.text).id, { user, agent, cap });
}

function addPayer(world: World, id: string, about: Pick<Payer, 'user' | 'agent' | 'cap'>): Payer {
	const payer = { ...about, id, label: `s${++labels}`, isDisturbed: false };
	world.payers.push(payer);
	return payer;
}

const models: Readonly<Record<string, readonly string[]>> = {
	'payer-claude': ['claude-opus-4-8'],
	'payer-gpt': ['gpt-5-mini'],
	'payer-gemini': ['gemini-2.5-flash'],
};

/** Creates the parts of a message: a text, and some media that the model may read. */
function createParts(world: World, { label, agent }: Payer): object[] {
	const { random } = world;
	const text = `#in ${label} ${createWords(random, random(1, chance(world, 10) ? 3_000 : 60))} #in ${label} `;
	const parts: object[] = [{ kind: 'text', text }];
	if (chance(world, 25)) {
		const data = createPng(random(1, 40) * 50, random(1, 40) * 50);
		parts.push({ kind: 'image', mime: 'image/png', data });
	}
	if (chance(world, 10) && agent !== 'payer-acme' && agent !== 'payer-audio')
		parts.push({ kind: 'file', mime: 'application/pdf', data: createPdf(random(1, 12)), name: 'a.pdf' });
	if (chance(world, 60) && agent === 'payer-audio')
		parts.push({ kind: 'audio', mime: 'audio/wav', data: createWav(random(1, 20)) });
	if (chance(world, 15) && (agent === 'payer-gemini' || agent === 'payer-flex'))
		parts.push({ kind: 'audio', mime: 'audio/wav', data: createWav(random(1, 20)) });
	return parts;
}

/** Sends a message without waiting for its run. */
export async function say(world: World, payer: Payer): Promise<void> {
	const model = chance(world, 20) ? pick(world, models[payer.agent] ?? []) : undefined;
	const whenBusy = chance(world, 30) ? 'steer' : 'queue';
	const body = { parts: createParts(world, payer), whenBusy, ...(model && { model }) };
	await ask(world.owner, `/v1/sessions/${payer.id}/messages`, body, 'POST', { prefer: 'respond-async' });
}

/** Cancels a run a moment after its beginning. */
export async function cancel(world: World, payer: Payer): Promise<void> {
	payer.isDisturbed = true;
	await waitShortly(world.random(0, 12));
	await ask(world.owner, `/v1/sessions/${payer.id}/cancel`, {});
}

/** Creates a session from another session's history, or with much provider metadata. */
export async function copy(world: World, payer: Payer): Promise<void> {
	const { owner } = world;
	const { agent, user, cap } = payer;
	if (chance(world, 50)) {
		const answer = await ask(owner, `/v1/sessions/${payer.id}/fork`, {});
		if (answer?.status !== 201) return;
		const { id, budget } = JSON.parse(answer.text);
		addPayer(world, id, { agent, user, cap: budget?.limit ?? cap });
		return;
	}
	const exported = await ask(owner, `/v1/sessions/${payer.id}/export`);
	if (exported?.status !== 200) return;
	const document = JSON.parse(exported.text);
	for (const message of document.messages) if (message.role === 'assistant') fatten(world, message);
	const query = user === undefined ? '' : `?user=${user}`;
	const answer = await ask(owner, `/v1/sessions/import${query}`, document);
	if (answer?.status !== 201) return;
	const { id, budget } = JSON.parse(answer.text);
	addPayer(world, id, { agent, user, cap: budget?.limit ?? {} });
}

/** Adds provider metadata to a message. */
function fatten(world: World, message: { stored?: { providerMetadata?: object } }): void {
	const { random } = world;
	const length = random(1, chance(world, 30) ? 6_000 : 100);
	const words = createWords(random, length);
	const kinds = {
		anthropic: {
			content: [
				{ type: 'text', text: words },
				{ type: 'thinking', thinking: words, signature: btoa(words) },
			],
		},
		openai: { output: [{ type: 'reasoning', id: 'rs', summary: [], encrypted_content: btoa(words) }] },
		gemini: { parts: [{ text: words }, { text: words, thoughtSignature: btoa(words) }] },
		acme: { reasoning_content: words, content: [{ type: 'text', text: words }] },
	};
	message.stored = { ...message.stored, providerMetadata: kinds };
}

/** Raises the cap of the session, of the day, or of a user. */
export async function raise(world: World, payer: Payer): Promise<void> {
	const more = (cap: { tokens?: number; usd?: number }) => ({
		...(cap.tokens !== undefined && { tokens: cap.tokens + world.random(1, 20_000) }),
		...(cap.usd !== undefined && { usd: Math.round((cap.usd + world.random(1, 200) / 1_000) * 1e6) / 1e6 }),
	});
	const { user, cap } = payer;
	if (chance(world, 30)) return setDayCap(world, more(world.dayCap));
	const caps = user === undefined ? undefined : world.userCaps.get(user);
	if (user !== undefined && caps !== undefined && chance(world, 50)) {
		const daily = caps.daily && more(caps.daily);
		const total = caps.total && more(caps.total);
		return setUserCaps(world, user, { ...(daily && { daily }), ...(total && { total }) });
	}
	if (!isBounded(cap)) return undefined;
	payer.cap = more(cap);
	await ask(world.owner, `/v1/sessions/${payer.id}`, { budget: payer.cap }, 'PATCH');
	await ask(world.owner, `/v1/sessions/${payer.id}/continue`, {}, 'POST', { prefer: 'respond-async' });
	return undefined;
}
