import { setTimeout as pause } from 'node:timers/promises';
import { oneCall } from './script.ts';
import { outcomes } from './settled.ts';
import { type Figures, type Options, onStage, type Stage } from './stage.ts';

/** The number of concurrent sessions. */
const atOnce = 6;
/** How long a tool works after its answer, and the longest time before a kill, in milliseconds. */
const toolMs = 400;
const longestMs = 300;

/**
 * SIGKILLs the server while people answer the questions of tools. After every acknowledged answer, the run
 * completes. No tool has its effect twice: a call that may have had its effect gets an error as its result.
 */
export function answers({ count = 50, seed }: Options): Promise<Figures> {
	const world = { script: oneCall('unsafe'), pieceLength: 50, paceMs: 5, toolMs, seed };
	return onStage(world, async (stage) => {
		const { client, server, random, outside } = stage;
		let answered = 0;
		let unknown = 0;
		for (let n = 0; n < count; n++) {
			const sent = await Promise.all(
				Array.from({ length: atOnce }, async (_, at) => {
					const tag = `answer-${n}-${at}`;
					const session = await client.begin(tag, { agent: 'asker' });
					await outside.ended(session);
					const { status } = await client.state(session);
					if (status !== 'awaiting_user') throw new Error(`${tag}: is ${status} and does not wait for an answer`);
					return { tag, session };
				}),
			);
			const answering = Promise.all(sent.map(({ session }) => client.send(session, 'yes')));
			// Half of the kills come during the sending of answers, and the other half during the work of tools.
			if (n % 2 === 1)
				while (!sent.some(({ tag }) => outside.effects.count('unsafe', `${tag}.unsafe`) > 0)) await pause(5);
			await pause(random(0, longestMs));
			await server.restart();
			await answering;
			// The test waits for the report of the upstream and sends the session no request, so only the alarm
			// continues the run.
			await Promise.all(sent.map(({ tag }) => outside.upstream.final(tag)));
			await Promise.all(sent.map(({ session }) => untilOver(client, session)));
			const { completed } = await outcomes(stage, sent);
			if (completed < sent.length) throw new Error(`${sent.length - completed} answered runs did not complete`);
			answered += sent.length;
			for (const { session } of sent)
				if ((await client.history(session)).some(({ role, isError }) => role === 'tool' && isError === true)) unknown++;
		}
		outside.effects.check();
		return {
			seed: stage.seed,
			kills: count,
			'answers to tools': answered,
			'effects that came twice': 0,
			'outcomes that are unknown': unknown,
		};
	});
}

async function untilOver(client: Stage['client'], session: string): Promise<void> {
	while ((await client.state(session)).status === 'running') await pause(100);
}
