import * as v from 'valibot';
import { RunletError, toMessageText } from '../../../core/base/errors.ts';
import { type Ask, isTransient } from './ask.ts';

/** Where an agent takes requests, and how (A2A, 4.4.6). */
export interface AgentInterface {
	readonly url: string;
	readonly isRpc: boolean;
	/** What each request has to repeat. */
	readonly tenant?: string;
}

const card = v.object({
	supportedInterfaces: v.array(
		v.object({
			url: v.string(),
			protocolBinding: v.string(),
			protocolVersion: v.string(),
			tenant: v.nullish(v.string()),
		}),
	),
});

/** How long a card is kept, in milliseconds. */
const keptMs = 300_000;
const timeoutMs = 15_000;

/**
 * Creates the reader of an agent card. It picks the first interface that Runlet speaks, which must be at `origin`, and
 * keeps it for five minutes. It throws an error that names the card's address and the remedy.
 */
export function createCardReader(
	url: string,
	origin: string,
): (ask: Ask, signal: AbortSignal) => Promise<AgentInterface> {
	let kept: { readonly found: AgentInterface; readonly until: number } | undefined;
	return async (ask, signal) => {
		if (kept !== undefined && Date.now() < kept.until) return kept.found;
		const json = await ask(url, { timeoutMs, signal }).catch((cause: unknown) => {
			if (signal.aborted) throw cause;
			const message = `The agent card at ${url} cannot be read. Look whether that is its address. ${toMessageText(cause)}`;
			throw new RunletError(isTransient(cause) ? cause.code : 'not_configured', message, undefined, { cause });
		});
		const found = findInterface(json, url, origin);
		kept = { found, until: Date.now() + keptMs };
		return found;
	};
}

function findInterface(json: unknown, url: string, origin: string): AgentInterface {
	const refuse = (what: string) => new RunletError('not_configured', `The agent card at ${url} ${what}`);
	const parsed = v.safeParse(card, json);
	if (!parsed.success)
		throw refuse(
			'is none of A2A 1.x. Give a2aTool the address of a card, as https://HOST/.well-known/agent-card.json.',
		);
	const all = parsed.output.supportedInterfaces;
	const spoken = all.find(
		({ protocolBinding, protocolVersion }) =>
			/^(JSONRPC|HTTP\+JSON)$/i.test(protocolBinding) && /^1(\.|$)/.test(protocolVersion),
	);
	if (spoken === undefined) {
		const named = all.slice(0, 5).map((one) => `${one.protocolBinding} ${one.protocolVersion}`.slice(0, 60));
		throw refuse(`offers ${named.join(', ') || 'nothing'}. a2aTool speaks JSONRPC and HTTP+JSON of A2A 1.x.`);
	}
	if (!URL.canParse(spoken.url) || new URL(spoken.url).origin !== origin)
		throw refuse(
			`says that the agent is at ${spoken.url.slice(0, 300)}, and not at ${origin}. If that is right, add to its a2aTool the origin of that address: { origin: 'https://HOST' }.`,
		);
	return {
		url: spoken.url,
		isRpc: spoken.protocolBinding.toUpperCase() === 'JSONRPC',
		...(spoken.tenant && { tenant: spoken.tenant }),
	};
}
