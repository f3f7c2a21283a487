/**
 * Runs `wrangler dev` for `runlet dev`: restarts it when it dies, and waits for a change when the sources have an error.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import { RunletError } from '../../core/base/errors.ts';
import { killMarked } from '../processes.ts';
import { extension, root, toCommand } from '../project.ts';
import { quietEnv } from '../wrangler.ts';
import type { Message } from './inside.ts';
import { createOutput } from './output.ts';
import { SourceLines } from './stack.ts';

/** How long a request waits for a starting server, in milliseconds. */
const startMs = 60_000;
/** Milliseconds until a stopping Wrangler is killed. */
const stopMs = 5_000;
/** A server that ran for a shorter time died at once. After several such deaths in a row `runlet dev` gives up. */
const atOnceMs = 1_000;
const maxAtOnce = 4;

const remedy = `The first error above says why: mend it, then run ${toCommand('dev')} again.`;

/** The Worker's address on this machine. */
export interface Address {
	readonly port: number;
	/** Whether the Worker sees its requests as https. */
	readonly isSecure: boolean;
}

export interface DevServerOptions {
	/** Wrangler's program. */
	readonly program: string;
	/** The arguments of `wrangler dev`. */
	readonly args: readonly string[];
	/** Whether the Worker's lines are printed unchanged. */
	readonly json: boolean;
	readonly print: (text: string) => void;
	/** Called when the Worker runs: for the first time, after a restart, or with new sources. */
	readonly onUp: (address: Address) => void;
	/** Called at the end, with the exit code and the reason. */
	readonly onEnd: (code: number, why?: string) => void;
}

/** A process of Wrangler. */
interface Wrangler {
	readonly child: ChildProcess;
	/** Missing while no Worker runs, or while the Worker is replaced. */
	address?: Address;
	/** When the Worker first answered. */
	upSince?: number;
	/** When the newest build began. While the sources have an error: when the build with the error began. */
	builtAt: number;
	/** The last output. */
	tail: string;
	/** Why this process is being ended. */
	ending?: 'restart' | 'stop' | 'mistake';
}

export class DevServer {
	readonly #options: DevServerOptions;
	readonly #mark = randomUUID();
	readonly #lines = new SourceLines();
	/** Emits `change` when a request that waits may continue. */
	readonly #changes = new EventEmitter().setMaxListeners(0);
	#wrangler: Wrangler | undefined;
	/** The current error of the sources. */
	#mistake: RunletError | undefined;
	/** When a source was last saved. */
	#savedAt = 0;
	#wasUp = false;
	#deathsAtOnce = 0;

	constructor(options: DevServerOptions) {
		this.#options = options;
	}

	start(): void {
		const { program, args, json, print } = this.#options;
		this.#mistake = undefined;
		// `--import` is not used: with it Node loads Wrangler as a module, which takes longer.
		const inside = join(import.meta.dirname, `inside${extension}`);
		const child = spawn(process.execPath, ['--no-warnings', '--require', inside, program, 'dev', ...args], {
			cwd: root,
			// The process group stays the same, so a signal to the group reaches all processes. The last descriptor is
			// our own output, so that our output closes only after Wrangler has ended.
			stdio: ['inherit', 'pipe', 'pipe', 'ipc', 1],
			env: { ...quietEnv, RUNLET_START: this.#mark, ...(process.stdout.isTTY && { FORCE_COLOR: '1' }) },
		});
		const wrangler: Wrangler = { child, builtAt: Date.now(), tail: '' };
		this.#wrangler = wrangler;
		const read = createOutput({ lines: this.#lines, print, json });
		for (const stream of [child.stdout, child.stderr]) {
			stream?.setEncoding('utf8').on('data', (text: string) => {
				wrangler.tail = `${wrangler.tail}${text}`.slice(-4_000);
				// The output of an ending process is not printed: it may crash, as esbuild does during a build.
				if (wrangler.ending === undefined) read(text);
			});
		}
		child.on('message', (message) => this.#onMessage(String(message), wrangler));
		child.on('error', (error) => this.#options.onEnd(1, `Wrangler could not be started: ${error.message}`));
		child.on('exit', () => killMarked(`RUNLET_START=${this.#mark}`));
		// All output of the process has been read by now.
		child.on('close', (code, signal) => this.#onEnd(wrangler, code, signal));
	}

	/** Replaces positions of the built Worker in a text by lines of the sources. */
	translate(text: string): string {
		return this.#lines.translate(text);
	}

	/** Returns the Worker's address. Waits for a starting server. Throws `not_configured` or `overloaded`. */
	async findAddress(): Promise<Address> {
		const signal = AbortSignal.timeout(startMs);
		while (!signal.aborted) {
			if (this.#mistake !== undefined) throw this.#mistake;
			if (this.#wrangler?.address !== undefined) return this.#wrangler.address;
			await once(this.#changes, 'change', { signal }).catch(() => {});
		}
		throw new RunletError('overloaded', 'The server is still starting. Try again in a second.', { retryAfter: 1 });
	}

	/** Called when a file was saved. Starts a stopped server. One that is ending with an error is started later. */
	retry(savedAt = Date.now()): void {
		this.#savedAt = savedAt;
		if (this.#wrangler === undefined) this.start();
	}

	/** Restarts the server with the current variables. */
	restart(): void {
		if (this.#wrangler === undefined) this.start();
		else this.#end(this.#wrangler, 'restart');
	}

	stop(signal: NodeJS.Signals): void {
		if (this.#wrangler === undefined) this.#options.onEnd(0);
		else this.#end(this.#wrangler, 'stop', signal);
	}

	#end(wrangler: Wrangler, why: Wrangler['ending'], signal: NodeJS.Signals = 'SIGTERM'): void {
		if (wrangler.ending === undefined) setTimeout(() => wrangler.child.kill('SIGKILL'), stopMs).unref();
		if (wrangler.ending !== 'stop') wrangler.ending = why;
		wrangler.upSince = wrangler.address = undefined;
		wrangler.child.kill(signal);
	}

	#onMessage(json: string, wrangler: Wrangler): void {
		if (wrangler.ending !== undefined) return;
		// SAFETY: `inside.ts` writes these messages. The messages of Wrangler itself are ignored.
		const message: Message = JSON.parse(json);
		switch (message.event) {
			case 'building':
				if (this.#mistake === undefined) wrangler.builtAt = message.at;
				wrangler.address = undefined;
				break;
			case 'built':
				this.#lines.read(message.map);
				wrangler.address = undefined;
				break;
			case 'worker':
				this.#onUp(wrangler, message);
				break;
			case 'mistake':
				this.#waitForFix(message.what, wrangler);
				break;
			case 'not-loaded': {
				const what = this.#lines.findUncaught(message.output);
				if (what !== undefined) this.#waitForFix(what, wrangler);
				break;
			}
			case 'lost':
				this.#options.print(`${message.name} was ended by ${message.signal}.`);
				wrangler.address = undefined;
				wrangler.child.kill('SIGKILL');
		}
	}

	#waitForFix(what: string, wrangler: Wrangler): void {
		this.#waitForSave(
			`The Worker does not run: ${what.replace(/[^.?!]$/, '$&.')} Mend it and save: it is tried again.`,
		);
		// If the first build failed, Wrangler watches no file.
		if (wrangler.upSince === undefined) this.#end(wrangler, 'mistake');
	}

	/** Refuses requests until a file is saved. */
	#waitForSave(words: string): void {
		if (this.#mistake?.message === words) return;
		this.#mistake = new RunletError('not_configured', words);
		this.#options.print(`\n${words}\n`);
		this.#changes.emit('change');
	}

	#onUp(wrangler: Wrangler, address: Address): void {
		wrangler.address = address;
		wrangler.upSince ??= performance.now();
		this.#mistake = undefined;
		this.#wasUp = true;
		this.#options.onUp(address);
		this.#changes.emit('change');
	}

	#onEnd({ upSince, builtAt, tail, ending }: Wrangler, code: number | null, signal: NodeJS.Signals | null): void {
		const ranMs = upSince === undefined ? 0 : performance.now() - upSince;
		const isBroken = this.#mistake !== undefined || (this.#wasUp && upSince === undefined && signal === null);
		const how = signal ?? `code ${code}`;
		this.#wrangler = undefined;
		if (ending === 'stop') this.#options.onEnd(0);
		else if (ending === 'restart' || (isBroken && this.#savedAt > builtAt)) this.start();
		else if (this.#mistake !== undefined) return;
		else if (!this.#wasUp) this.#options.onEnd(code || 1, `Wrangler ended (${how}) before the Worker ran. ${remedy}`);
		else if (isBroken)
			this.#waitForSave(
				'Wrangler does not start any more: the first error above says why. Mend it and save: it is tried again.',
			);
		else {
			this.#deathsAtOnce = ranMs < atOnceMs ? this.#deathsAtOnce + 1 : 0;
			if (this.#deathsAtOnce < maxAtOnce) {
				this.#options.print(`Wrangler ended (${how}). It is started again; the address stays.`);
				this.start();
			} else this.#options.onEnd(1, `Wrangler ended ${maxAtOnce} times at once (${how}). Its last words:\n${tail}`);
		}
	}
}
