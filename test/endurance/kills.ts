import { setTimeout as pause } from 'node:timers/promises';
import { checkCharges } from './charges.ts';
import type { Effects } from './effects.ts';
import { checkReading } from './history.ts';
import { type Reading, read } from './reader.ts';
import { threeTools } from './script.ts';
import { outcomes, type Sent, untilQuiet } from './settled.ts';
import { type Figures, type Options, onStage, type Stage } from './stage.ts';

/** Concurrent runs. */
const inFlight = 8;
/** Readers of every second run. The other runs have no reader, and only the alarm continues them. */
const readersEach = 3;
/** Bytes after which a reader disconnects and reconnects. */
const cuts = [20, 4_000] as const;
/**
 * Whole answers of the model before a kill, so that a slow machine does not have more killed answers than whole ones,
 * which would change the charges. Every fourth kill comes without them: soon after the kill before it.
 */
const answersBefore = 16;
/** How long an interrupted run delays the next new run, in milliseconds. */
const roomMs = 5_000;

/** The source of the tools. */
interface Tooling {
	readonly agent?: string;
	/** The prefix of the tools' names. */
	readonly prefix?: string;
	/** The counter of the tools' effects. */
	readonly effects?: Effects;
}

/** A run with readers that reconnect after every kill. */
interface Followed extends Sent {
	readonly readings: readonly Promise<Reading>[];
}

/**
 * SIGKILLs the server at random moments of runs with three tools, while new runs begin. No acknowledged message is lost.
 * Every run ends within a minute of the last kill, without a request. No tool has an effect twice. Every reader gets the
 * stored events, over any number of kills and cuts. Charges match the model's bill. The owner's list has every session.
 */
export function kills(
	{ count = 200, seed }: Options,
	variables: Readonly<Record<string, string>> = {},
	{ agent = 'worker', prefix = '', effects }: Tooling = {},
): Promise<Figures> {
	const world = { script: threeTools(400, prefix), pieceLength: 20, paceMs: 20, toolMs: 300, seed, variables, effects };
	return onStage(world, async (stage) => {
		const { server, random, outside } = stage;
		const sent: Sent[] = [];
		const followed: Followed[] = [];
		let isOver = false;
		const clients = Array.from({ length: inFlight }, async (_, n) => {
			for (let round = 0; !isOver; round++) {
				const tag = `run-${n}-${round}`;
				const session = await stage.client.begin(tag, { agent });
				sent.push({ tag, session });
				if (round % 2 === 0) followed.push({ tag, session, readings: follow(stage, session) });
				await untilRoom(stage, tag);
			}
		});
		const killing = async (): Promise<void> => {
			for (let n = 0; n < count; n++) {
				const before = countWhole(stage);
				await pause(random(200, 4_000));
				while (n % 4 !== 3 && countWhole(stage) < before + answersBefore) await pause(20);
				await server.restart();
			}
			isOver = true;
		};
		await Promise.all([killing(), ...clients]);
		const quietMs = await untilQuiet(stage, sent);
		const { completed, interrupted } = await outcomes(stage, sent);
		const { readers, restarted } = await checkAll(stage, sent, followed);
		const charges = await checkCharges(stage, sent);
		const listed = await stage.client.listed();
		const missing = sent.filter(({ session }) => !listed.has(session));
		if (missing.length > 0) throw new Error(`${missing.length} of ${sent.length} sessions are not in the list`);
		return {
			...charges,
			seed: stage.seed,
			kills: count,
			'runs acknowledged': sent.length,
			'sessions that are not in the list': missing.length,
			completed,
			'out of attempts': interrupted,
			'seconds from the last kill to the last end': (quietMs / 1_000).toFixed(1),
			'model calls': outside.upstream.asks.length,
			'model calls cut': outside.upstream.asks.filter(({ state }) => state === 'cut').length,
			'safe calls repeated under their key': outside.effects.repeated('keyed') + outside.effects.repeated('lookup'),
			'unsafe calls repeated': outside.effects.repeated('unsafe'),
			'readers through all lives, texts wrong': `${readers}, 0`,
			'turns that they were told are asked again': restarted,
		};
	});
}

/** The number of answers that the model sent whole. */
function countWhole({ outside }: Stage): number {
	return outside.upstream.asks.filter(({ state }) => state === 'whole').length;
}

/** Starts the readers of a run. All readers but the first also cut their connections at random. */
function follow({ client, random }: Stage, session: string): readonly Promise<Reading>[] {
	const readings = Array.from({ length: readersEach }, (_, n) =>
		read(client, session, n === 0 ? {} : { cutAfter: () => random(...cuts) }),
	);
	// The programme awaits the readings at its end. Until then a rejection must not end the process.
	for (const reading of readings) reading.catch(() => {});
	return readings;
}

/** Compares everything that was read, and a new reading of each run, with the histories. */
async function checkAll({ client }: Stage, sent: readonly Sent[], followed: readonly Followed[]) {
	let readers = 0;
	let restarted = 0;
	for (const { tag, session } of sent) {
		const messages = await client.history(session);
		const whole = await read(client, session);
		const own = followed.find((one) => one.session === session)?.readings ?? [];
		for (const { transcript } of [whole, ...(await Promise.all(own))]) {
			checkReading(tag, transcript, messages);
			if (transcript.end?.type !== whole.transcript.end?.type)
				throw new Error(`${tag}: one reader was told ${transcript.end?.type}, another ${whole.transcript.end?.type}`);
		}
		readers += own.length;
		for (const { transcript } of await Promise.all(own)) restarted += transcript.restarted;
	}
	return { readers, restarted };
}

/** Resolves when a run is over or began some time ago. */
async function untilRoom({ outside }: Stage, tag: string): Promise<void> {
	const late = new AbortController();
	await Promise.race([outside.upstream.final(tag), pause(roomMs, undefined, { signal: late.signal }).catch(() => {})]);
	late.abort();
}
