/**
 * Runs `wrangler dev` for `runlet dev`: restarts it when it dies, and waits for a change when the sources have an error.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import * as v from 'valibot';
import { RunletError } from '../../core/base/errors.ts';
import { killMarked } from '../processes.ts';
import { extension, root, toCommand } from '../project.ts';
import { quietEnv } from '../wrangler.ts';
import { createOutput } from './output.ts';
import { SourceLines } from './stack.ts';

/** Milliseconds that a request waits for a starting server. */
const startMs = 60_000;
/** Milliseconds until a stopping Wrangler is killed. */
const stopMs = 5_000;
/** A server that ran for a shorter time died at once. After several of these in a row `runlet dev` gives up. */
const atOnceMs = 1_000;
const maxAtOnce = 4;

const remedy = `The first error above says why: mend it, then run ${toCommand('dev')} again.`;

/** The Worker's address on this machine. */
export interface Address {
	readonly port: number;
	/** Whether the Worker sees its requests as https. */
	readonly isSecure: boolean;
	/** Whether it is the Worker's own address, and not that of Wrangler's proxy. */
	readonly isDirect: boolean;
}

export interface DevServerOptions {
	/** Wrangler's program; a test gives one that acts as Wrangler. */
	readonly program: string;
	/** The arguments of `wrangler dev`. */
	readonly args: readonly string[];
	/** Whether the Worker's lines are printed unchanged. */
	readonly json: boolean;
	readonly print: (text: string) => void;
	/** Called when the Worker runs: for the first time, after a restart, or with new sources. */
	readonly onUp: (address: Address) => void;
	/** Called when the Worker cannot run until its sources are fixed. */
	readonly onMistake: (error: RunletError) => void;
	/** Called at the end, with the exit code and the reason. */
	readonly onEnd: (code: number, why?: string) => void;
}

const messageSchema = v.variant('event', [
	v.looseObject({ event: v.literal('DEV_SERVER_READY'), port: v.number() }),
	v.looseObject({ event: v.literal('lost'), name: v.string(), signal: v.string() }),
	v.looseObject({ event: v.literal('built-in'), folder: v.string() }),
	v.looseObject({ event: v.literal('replacing'), at: v.number() }),
	v.looseObject({ event: v.literal('worker'), port: v.optional(v.number()), isSecure: v.optional(v.boolean(), false) }),
]);

/** A process of Wrangler, and the state of its Worker. */
interface Wrangler {
	readonly child: ChildProcess;
	/** Its own address. */
	port?: number;
	/** Its message about the running Worker. Undefined while none runs or while it is replaced. */
	worker?: { readonly port?: number; readonly isSecure: boolean };
	/** The Worker's address. */
	address?: Address;
	/** When the Worker first answered. */
	upSince?: number;
	/** When the first build began whose Worker has not run yet. A failed build may lack files that are saved later. */
	readAt?: number;
	/** Its last output. */
	tail: string;
}

export class DevServer {
	readonly #options: DevServerOptions;
	readonly #mark = randomUUID();
	readonly #lines = new SourceLines();
	/** The running process. */
	#wrangler: Wrangler | undefined;
	/** The current error of the sources. */
	#mistake: RunletError | undefined;
	/** When a source was last saved. */
	#savedAt = 0;
	#intent: 'run' | 'restart' | 'stop' = 'run';
	#wasUp = false;
	#deathsAtOnce = 0;
	readonly #waiting = new Set<() => void>();

	constructor(options: DevServerOptions) {
		this.#options = options;
	}

	start(): void {
		const { program, args, json, print } = this.#options;
		this.#mistake = undefined;
		const readAt = Date.now();
		// Not by --import: then Node loads Wrangler as if it were a module, which takes longer.
		const inside = join(import.meta.dirname, `inside${extension}`);
		const child = spawn(process.execPath, ['--no-warnings', '--require', inside, program, 'dev', ...args], {
			cwd: root,
			// Wrangler sends its address over IPC. The process group stays the same, so a signal to the group reaches all. The
			// last descriptor is our own output: it closes only when Wrangler has ended too.
			stdio: ['inherit', 'pipe', 'pipe', 'ipc', 1],
			env: { ...quietEnv, RUNLET_START: this.#mark, ...(process.stdout.isTTY && { FORCE_COLOR: '1' }) },
		});
		const wrangler: Wrangler = { child, readAt, tail: '' };
		this.#wrangler = wrangler;
		const onMistake = (what: string) =>
			this.#waitForSave(
				`The Worker does not run: ${what.replace(/[^.?!]$/, '$&.')} Mend it and save: it is tried again.`,
			);
		const read = createOutput({ lines: this.#lines, print, onMistake, json });
		for (const stream of [child.stdout, child.stderr]) {
			stream?.setEncoding('utf8').on('data', (text: string) => {
				wrangler.tail = `${wrangler.tail}${text}`.slice(-4_000);
				// An ending process may crash, as esbuild does during a build.
				if (this.#intent === 'run') read(text);
			});
		}
		child.on('message', (message) => this.#onMessage(String(message), wrangler));
		child.on('error', (error) => this.#options.onEnd(1, `Wrangler could not be started: ${error.message}`));
		child.on('exit', () => killMarked(`RUNLET_START=${this.#mark}`));
		// All its output has been read by now.
		child.on('close', (code, signal) => this.#onEnd(wrangler, code, signal));
	}

	/** Replaces positions of the built Worker in a text by lines of the sources. */
	translate(text: string): string {
		return this.#lines.translate(text);
	}

	/** Returns the Worker's address. Waits for a starting server. Throws `not_configured` or `overloaded`. */
	async findAddress(): Promise<Address> {
		const deadline = performance.now() + startMs;
		while (performance.now() < deadline) {
			if (this.#mistake !== undefined) throw this.#mistake;
			const address = this.#wrangler?.address;
			if (address !== undefined) return address;
			await this.#change(deadline - performance.now());
		}
		throw new RunletError('overloaded', 'The server is still starting. Try again in a second.', { retryAfter: 1 });
	}

	/** Starts a server that waits for a saved file. One that is still ending because of an error starts again after its end. */
	retry(savedAt = Date.now()): void {
		this.#savedAt = savedAt;
		if (this.#wrangler === undefined && this.#intent === 'run') this.start();
		else this.#replaceBlind();
	}

	/** Replaces a Wrangler whose first build failed once a newer file is saved: it watches no file itself. */
	#replaceBlind(): void {
		const wrangler = this.#wrangler;
		if (wrangler === undefined || wrangler.upSince !== undefined || this.#intent !== 'run') return;
		if (this.#mistake === undefined || this.#savedAt <= (wrangler.readAt ?? 0)) return;
		this.#mistake = undefined;
		this.#end(wrangler, 'restart', 'SIGTERM');
	}

	/** Restarts the server with the current variables. */
	restart(): void {
		if (this.#wrangler === undefined) this.retry();
		else if (this.#intent === 'run') this.#end(this.#wrangler, 'restart', 'SIGTERM');
	}

	stop(signal: NodeJS.Signals): void {
		if (this.#wrangler === undefined) this.#options.onEnd(0);
		else this.#end(this.#wrangler, 'stop', signal);
	}

	#end(wrangler: Wrangler, intent: 'restart' | 'stop', signal: NodeJS.Signals): void {
		if (this.#intent === 'run') setTimeout(() => wrangler.child.kill('SIGKILL'), stopMs).unref();
		this.#intent = intent;
		wrangler.upSince = wrangler.address = undefined;
		wrangler.child.kill(signal);
	}

	/** Waits for a change of state, at most the given milliseconds. */
	async #change(ms: number): Promise<void> {
		const { promise, resolve } = Promise.withResolvers<void>();
		const timer = setTimeout(resolve, ms);
		this.#waiting.add(resolve);
		await promise;
		clearTimeout(timer);
		this.#waiting.delete(resolve);
	}

	#wake(): void {
		for (const wake of this.#waiting) wake();
	}

	#onMessage(message: string, wrangler: Wrangler): void {
		const parsed = v.safeParse(messageSchema, JSON.parse(message));
		if (!parsed.success || wrangler !== this.#wrangler || this.#intent !== 'run') return;
		const { output } = parsed;
		if (output.event === 'built-in') this.#lines.folder = output.folder;
		if (output.event === 'lost') {
			this.#options.print(`${output.name} was ended by ${output.signal}.`);
			wrangler.address = undefined;
			wrangler.child.kill('SIGKILL');
		}
		if (output.event === 'DEV_SERVER_READY') wrangler.port = output.port;
		if (output.event === 'replacing') {
			wrangler.worker = wrangler.address = undefined;
			wrangler.readAt ??= output.at;
		}
		if (output.event === 'worker') {
			wrangler.worker = output;
			wrangler.address = wrangler.readAt = undefined;
		}
		const { worker, address } = wrangler;
		const port = worker?.port ?? wrangler.port;
		if (address === undefined && worker !== undefined && port !== undefined)
			this.#onUp(wrangler, { port, isSecure: worker.isSecure, isDirect: worker.port !== undefined });
	}

	/** Refuses requests until a file is saved. */
	#waitForSave(words: string): void {
		if (this.#mistake?.message === words || this.#intent !== 'run') return;
		this.#mistake = new RunletError('not_configured', words);
		this.#options.print(`\n${words}\n`);
		this.#options.onMistake(this.#mistake);
		this.#wake();
		this.#replaceBlind();
	}

	#onUp(wrangler: Wrangler, address: Address): void {
		wrangler.address = address;
		wrangler.upSince ??= performance.now();
		this.#mistake = undefined;
		this.#wasUp = true;
		this.#options.onUp(address);
		this.#wake();
	}

	#onEnd({ upSince, readAt = 0, tail }: Wrangler, code: number | null, signal: NodeJS.Signals | null): void {
		const ranMs = upSince === undefined ? 0 : performance.now() - upSince;
		const wasUp = upSince !== undefined;
		const isBroken = this.#mistake !== undefined || (this.#wasUp && !wasUp && signal === null);
		const how = signal ?? `code ${code}`;
		this.#wrangler = undefined;
		if (this.#intent === 'stop') this.#options.onEnd(0);
		else if (this.#intent === 'restart') this.#startAgain();
		else if (isBroken && this.#savedAt > readAt) this.#startAgain();
		else if (this.#mistake !== undefined) this.#wake();
		else if (!this.#wasUp) this.#options.onEnd(code || 1, `Wrangler ended (${how}) before the Worker ran. ${remedy}`);
		else if (!wasUp && signal === null)
			this.#waitForSave(
				'Wrangler does not start any more: the first error above says why. Mend it and save: it is tried again.',
			);
		else {
			this.#deathsAtOnce = ranMs < atOnceMs ? this.#deathsAtOnce + 1 : 0;
			if (this.#deathsAtOnce < maxAtOnce)
				this.#startAgain(`Wrangler ended (${how}). It is started again; the address stays.`);
			else this.#options.onEnd(1, `Wrangler ended ${maxAtOnce} times at once (${how}). Its last words:\n${tail}`);
		}
	}

	#startAgain(words?: string): void {
		if (words !== undefined) this.#options.print(words);
		this.#intent = 'run';
		this.start();
	}
}
