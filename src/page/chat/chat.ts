/** The chat: shows a session, or the start of a new chat, and its runs as their events arrive. */

import { isTransient } from '../../client/error.ts';
import { findRunEnd, type LoadedSession } from '../../client/history.ts';
import { ClientError, type MessageBody, type RunEvent, type RunEvents } from '../../client/index.ts';
import { say } from '../../client/say.ts';
import { findAnswered } from '../../client/waits.ts';
import { toSaidText } from '../../client/words.ts';
import { find } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import { pointAtOpenCall } from '../parts/open-call.ts';
import { type Again, askAgain, createBusyError, type Spot } from './again.ts';
import type { createAgentOffer } from './agent-offer.ts';
import type { Choice } from './choice.ts';
import { createComposer } from './composer.ts';
import { createEarlier, pageLength } from './earlier.ts';
import { createElsewhere } from './elsewhere.ts';
import { readEdited } from './message-end.ts';
import { createOpenCalls, type OpenCalls } from './open-calls.ts';
import { createPane, type Pane } from './pane.ts';
import { createProgress } from './progress.ts';
import { createRatings, type Ratings } from './ratings.ts';
import { setReadOnly } from './read-only.ts';
import { createRunPlayer, createTakenUp, type TakenUp, withStart } from './run-player.ts';
import { hasArrived, readRefusal, sendAndRead, sendOrAnswer } from './sending.ts';
import { createSidePanels } from './side-panels.ts';
import { offerChildren } from './stored-children.ts';
import type { ChatClient, Surroundings } from './surroundings.ts';
import { createTranscript, type Transcript } from './transcript.ts';
import type { Versions } from './versions.ts';
import { createWaitingList } from './waiting.ts';
import { createWelcome } from './welcome.ts';

export class Chat {
	/** The pane beside the conversation. */
	readonly pane: Pane;
	readonly #client: ChatClient;
	readonly #around: Surroundings;
	readonly #ratings: Ratings;
	readonly #versions: Versions | undefined;
	readonly #transcript: Transcript;
	readonly #sidePanels: ReturnType<typeof createSidePanels>;
	readonly #earlier: ReturnType<typeof createEarlier>;
	readonly #waiting: ReturnType<typeof createWaitingList>;
	readonly #welcome: ReturnType<typeof createWelcome>;
	readonly #choice: Choice;
	readonly #agentOffer: ReturnType<typeof createAgentOffer> | undefined;
	readonly #composer: ReturnType<typeof createComposer>;
	readonly #progress: ReturnType<typeof createProgress>;
	readonly #openCalls: OpenCalls;
	readonly #elsewhere: ReturnType<typeof createElsewhere>;
	readonly #playRun: ReturnType<typeof createRunPlayer>;
	#sessionId: string | undefined;
	/** The agent and the model of the open session. */
	#shown: Parameters<Choice['pick']>[0] | undefined;
	/** Aborted when the page leaves the chat. Work for this chat then stops and changes nothing. */
	#visit = new AbortController();

	constructor(client: ChatClient, around: Surroundings) {
		const { root, onActivity } = around;
		this.#client = client;
		this.pane = createPane(root, around);
		this.#around = around;
		this.#choice = around.createChoice((agent) => this.#offerAgent(agent));
		this.#agentOffer = around.extras?.createAgentOffer(root);
		this.#welcome = createWelcome(root);
		this.#composer = createComposer({
			...around,
			onSend: (text, steers) => void (this.#composer.isRunning ? this.#leave(text, steers) : this.#send(text)),
			onStop: () => void this.#stop(),
			onWriting: () => void this.#isHeldUp(),
		});
		this.#progress = createProgress(this.#composer.setStatus);
		around.extras?.listenForEscape(around, () => {
			if (this.#composer.isRunning && this.#composer.takesMore) void this.#stop();
		});
		this.#ratings = createRatings(client);
		this.#versions = around.extras?.createVersions(client, find('#transcript', HTMLElement, root));
		const createForkButton = around.onFork && around.extras?.createForkButton;
		const createFork =
			createForkButton && ((spot: Spot, text?: string) => createForkButton(() => void this.#fork(spot), text));
		const actions = { onAgain: (again: Again) => void this.#askAgain(again), createFork };
		this.#transcript = createTranscript(
			actions,
			{ ratings: this.#ratings, versions: this.#versions, readFile: (path) => this.#readFile(path) },
			around,
		);
		this.#sidePanels = createSidePanels(client, this.#transcript.calls, this.pane, around);
		this.#earlier = createEarlier(client, root, this.#transcript.addEarlier);
		this.#waiting = createWaitingList(client, root, this.#transcript.tail.keep);
		this.#openCalls = createOpenCalls({
			client,
			transcript: this.#transcript,
			play: (events, signal) => this.#play(events, signal),
			send: (text, question) => void this.#send(text, question),
			findSchema: this.#choice.findSchema,
			createAskedBy: around.createAskedBy,
			mayDecide: around.mayDecide,
			mayWrite: around.mayWrite,
			onRefused: (error, call) => this.#showRefusal(error, call),
		});
		this.#playRun = createRunPlayer({
			transcript: this.#transcript,
			waiting: this.#waiting,
			sidePanels: this.#sidePanels,
			composer: this.#composer,
			progress: this.#progress,
			onEvent: (event) => {
				this.#elsewhere.apply(event);
				around.onEvent?.(event);
				this.#openCalls.question = event.type === 'awaiting' ? event.question : undefined;
				if (event.type === 'run.started') onActivity();
			},
			onEnd: onActivity,
		});
		this.#elsewhere = createElsewhere({
			client,
			waiting: this.#waiting,
			transcript: this.#transcript,
			isRunning: () => this.#composer.isRunning,
			onWaitingCalls: this.#openCalls.keep,
			showAnew: () => {
				const draft = readEdited(this.#transcript.root);
				void this.open(this.#sessionId);
				this.#composer.restore(draft);
			},
			goOn: (loaded, signal) => void this.#attempt(() => this.#follow(loaded, signal)),
		});
	}

	/** Shows a session, or the start of a new chat. `failure` is shown above the newest run. */
	async open(id?: string, failure?: ClientError): Promise<void> {
		this.close();
		this.#visit = new AbortController();
		const { signal } = this.#visit;
		this.#sessionId = id;
		setReadOnly(this.#around.root, this.#around.mayWrite?.() === false);
		this.#composer.open(id);
		if (this.#mayFocus) this.#composer.focus();
		try {
			await this.#choice.load(signal);
			this.#composer.setStatus('');
			this.#around.onActivity();
			if (id !== undefined) return await this.#showSession(id, signal, failure);
			this.#welcome.show(this.#choice.begin(), (text) => void this.#send(text));
			this.#composer.isReady = true;
		} catch (error) {
			if (!signal.aborted) this.#showFailure(error, isTransient(error));
		}
	}

	/** Shows changes that came from elsewhere: another window, the terminal, a webhook or a schedule. */
	look(): void {
		const id = this.#sessionId;
		if (id !== undefined && this.#composer.isReady) this.#elsewhere.look({ id, signal: this.#visit.signal });
	}

	/** Closes the chat. Its run continues on the server. */
	close(): void {
		this.#visit.abort();
		this.#transcript.clear();
		this.#earlier.clear();
		this.#sidePanels.clear();
		this.#ratings.use(undefined);
		this.#versions?.use(undefined);
		this.#waiting.clear();
		this.#openCalls.question = undefined;
		this.#welcome.hide();
		this.#agentOffer?.hide();
		this.#composer.isReady = false;
		this.#composer.setRunning(false);
		this.#progress.end();
		this.#composer.setStatus('');
	}

	#readFile(path: string): Promise<Blob> {
		return this.#client.readFile(this.#sessionId ?? '', path, { signal: this.#visit.signal });
	}

	/** Whether the chat may take the focus. A chat in a page of somebody else waits until a person has come to it. */
	get #mayFocus(): boolean {
		const { isEmbedded, root } = this.#around;
		return isEmbedded !== true || root.activeElement !== null;
	}

	/** Says that the connection is lost, until `showAnswer` is called. */
	showRetry(): void {
		this.#progress.lose();
	}

	/** Call this when the server has answered. */
	showAnswer(): void {
		this.#progress.regain();
	}

	async #showSession(id: string, signal: AbortSignal, failure?: ClientError): Promise<void> {
		const loaded = await this.#client.loadSession(id, { newest: pageLength, withEnded: true, signal });
		this.#shown = loaded.session;
		this.#choice.pick(loaded.session);
		const { run, parent } = loaded.session;
		// The answers of a child session are rated in its parent session.
		this.#ratings.use(parent === undefined ? { id, signal } : undefined);
		this.#ratings.note(run?.id, run?.feedback);
		this.#versions?.use({ id, signal });
		const messages = loaded.messages.filter((message) => !loaded.steered.has(message.id));
		this.#earlier.open({ id, signal }, { ...loaded, messages, end: findRunEnd(loaded) });
		this.#sidePanels.showContext(messages);
		if (!this.#around.isEmbedded)
			offerChildren(this.#client, loaded.session.children ?? [], { calls: this.#transcript.calls, signal });
		if (failure !== undefined) this.#showFailure(failure);
		this.#transcript.tail.toEnd();
		void this.#sidePanels.open({ id, signal });
		this.#waiting.use({ id, signal });
		await this.#follow(loaded, signal);
	}

	/** Follows the newest run of a session, unless the run has ended. The stored messages are already shown. */
	async #follow(loaded: LoadedSession, signal: AbortSignal): Promise<void> {
		const { session } = loaded;
		const end = findRunEnd(loaded)?.event;
		this.#composer.setRunning(session.run?.status === 'running');
		this.#elsewhere.show(session.run);
		this.#openCalls.question = session.question;
		if (session.waiting !== undefined) await this.#waiting.refresh();
		this.#composer.isReady = true;
		if (session.run?.status !== 'running') return this.#settle(session.id, end, signal);
		const onOther = () => void this.open(session.id);
		const takeUp = createTakenUp({ waiting: this.#waiting, transcript: this.#transcript, loaded, onOther });
		const { from } = loaded;
		const events = this.#client.followRun(session.id, { from, signal });
		await this.#play(from === undefined ? events : withStart(events, session.run?.id), signal, takeUp);
	}

	/** Sends a message. If a question is open, the message answers the question. */
	async #send(text: string, question = this.#openCalls.question): Promise<void> {
		const [composer, { signal }] = [this.#composer, this.#visit];
		if (!composer.isReady || composer.isEmpty(text) || this.#isHeldUp()) return;
		composer.setRunning(true);
		const { restore, ...draft } = await composer.take(text);
		if (signal.aborted) return restore();
		this.#welcome.hide();
		const bubble = this.#transcript.addMessage(draft.text ?? '', draft.attachments);
		composer.clear();
		this.#transcript.tail.toEnd();
		const call = this.#transcript.calls.get(question?.callId ?? '');
		call?.setResult(text, false);
		const message = { ...draft, model: this.#choice.model };
		try {
			const id = this.#sessionId ?? (await this.#create(signal));
			if (signal.aborted && id !== undefined) return void (await this.#client.leaveMessage(id, message));
			const sent = question === undefined && draft.attachments === undefined ? { bubble, text } : undefined;
			const takeUp = createTakenUp({ waiting: this.#waiting, transcript: this.#transcript, sent });
			const events =
				id === undefined ? this.#begin(message, signal) : sendOrAnswer(this.#client, { id, signal }, message, question);
			await this.#play(events, signal, takeUp);
			if (!signal.aborted) this.#choice.keepModel();
		} catch (error) {
			if (!hasArrived(error, signal)) {
				bubble.remove();
				call?.wait();
				restore();
			}
			if (signal.aborted) return;
			composer.setRunning(false);
			await this.#showRefusal(error, question && findAnswered(question));
		}
	}

	/** Shows why a message or an answer was refused, and the calls that are waiting now. */
	async #showRefusal(error: unknown, call?: string): Promise<void> {
		const [id, { signal }] = [this.#sessionId, this.#visit];
		const failure = id && (await readRefusal(this.#client, { id, signal }, error, call));
		if (signal.aborted) return;
		if (failure) return this.open(id, failure);
		this.#showFailure(error);
		if (id !== undefined && call !== undefined) await this.#openCalls.show({ id, signal }).catch(() => {});
	}

	/** Sends a message during a run. The message is queued until the run ends, or steers the run. */
	async #leave(text: string, steers: boolean): Promise<void> {
		const [id, composer] = [this.#sessionId, this.#composer];
		if (id === undefined || !composer.takesMore || composer.isEmpty(text)) return;
		const { signal } = this.#visit;
		const { restore, ...draft } = await composer.take(text);
		if (signal.aborted) return restore();
		composer.clear();
		await this.#attempt(async () => {
			const message = { ...draft, model: this.#choice.model, whenBusy: steers ? 'steer' : 'queue' } as const;
			await this.#client.leaveMessage(id, message);
			await this.#waiting.refresh();
			// The run has possibly ended in the meantime, and the message has started the next run.
			if (!this.#composer.isRunning) this.look();
		}, restore);
	}

	/** Creates the session of a new chat. Undefined if its first message creates it. */
	async #create(signal: AbortSignal): Promise<string | undefined> {
		const id = await this.#choice.create?.();
		if (id !== undefined && !signal.aborted) this.#enter(id, signal);
		return id;
	}

	/** Creates a session with its first message. If the page leaves the chat, only the reading of the run ends. */
	#begin(message: MessageBody, signal: AbortSignal): RunEvents {
		const { agent } = this.#choice;
		const body = { agent, ...message };
		this.#shown = { agent, ...(message.model !== undefined && { model: message.model }) };
		const onCreated = (id: string) => {
			if (!signal.aborted) this.#enter(id, signal);
		};
		return sendAndRead(signal, (reading) => this.#client.startSession(body, { onCreated, signal: reading }));
	}

	/** Goes on in the session that a new chat has now. */
	#enter(id: string, signal: AbortSignal): void {
		this.#sessionId = id;
		this.#composer.moveDraft(id);
		this.#around.onSession(id);
		this.#sidePanels.use({ id, signal });
		this.#ratings.use({ id, signal });
		this.#versions?.use({ id, signal });
		this.#waiting.use({ id, signal });
	}

	/** Whether a waiting call must be answered before a message can be sent. If so, points at this call. */
	#isHeldUp(): boolean {
		const todo = pointAtOpenCall(this.#transcript.root);
		if (todo !== undefined) this.#composer.setStatus(`${todo} ${say('Your message is kept here.')}`);
		return todo !== undefined;
	}

	/** Shows the events of a run as they arrive. Then shows the runs that the queued messages start. */
	async #play(events: RunEvents, signal: AbortSignal, first?: TakenUp): Promise<void> {
		for (let [next, takeUp] = [events, first]; ; takeUp = undefined) {
			const last = await this.#playRun(next, signal, takeUp);
			const id = this.#sessionId;
			if (signal.aborted || id === undefined) return;
			const goesOn = last !== undefined && last.type !== 'awaiting' && last.type !== 'cancelled';
			if (!goesOn || this.#waiting.isEmpty) return this.#settle(id, last, signal);
			next = this.#client.followRun(id, { lastEventId: next.lastEventId, signal });
		}
	}

	/** Shows the actions that are possible after a run, and updates the queued messages. */
	async #settle(id: string, last: RunEvent | undefined, signal: AbortSignal): Promise<void> {
		if (!this.#waiting.isEmpty) {
			const left = await this.#waiting.refresh();
			// A cancelled run drops its queued messages. Put their text back into the message box.
			if (last?.type === 'cancelled') this.#composer.restore(left.map(toSaidText).join('\n\n'));
		}
		if (last?.type === 'awaiting') await this.#openCalls.show({ id, signal });
		const mayGoOn = last?.type === 'error' || (last?.type === 'halted' && last.reason === 'budget_exceeded');
		const goOn = () => this.#play(this.#client.continueRun(id, { signal }), signal);
		if (mayGoOn) this.#transcript.offer(say('Try again'), () => void this.#attempt(goOn));
		if (last?.type === 'done' || last?.type === 'cancelled') this.#transcript.offerAgain();
	}

	/** Forks the session, and opens the fork. */
	#fork(spot: Spot): Promise<void> {
		const { signal } = this.#visit;
		const id = this.#sessionId;
		return this.#attempt(async () => {
			const fork = id && (await this.#around.extras?.forkAt(this.#client, { id, signal }, spot));
			if (fork && !signal.aborted) this.#around.onFork?.(fork);
		});
	}

	/** Sends a message again, and reloads the conversation. */
	#askAgain(again: Again): Promise<void> {
		const { signal } = this.#visit;
		const id = this.#sessionId;
		return this.#attempt(async () => {
			if (id === undefined) return;
			if (this.#composer.isRunning) throw createBusyError();
			await askAgain(this.#client, id, again, signal);
			if (!signal.aborted) await this.open(id);
		});
	}

	async #stop(): Promise<void> {
		this.#composer.stop.disabled = true;
		await this.#attempt(async () => this.#sessionId && this.#client.cancelRun(this.#sessionId));
		this.#composer.stop.disabled = false;
	}

	/** Runs `work`. Shows its failure, unless the page has left the chat. */
	async #attempt(work: () => Promise<unknown>, onFailure = () => {}): Promise<void> {
		const { signal } = this.#visit;
		try {
			await work();
		} catch (error) {
			onFailure();
			if (!signal.aborted) this.#showFailure(error);
		}
	}

	/** Begins a new chat with the chosen agent. In a session, says first that it does. */
	#offerAgent(agent: string): void {
		const id = this.#sessionId;
		if (id === undefined) return void this.open();
		if (this.#shown !== undefined) this.#choice.pick(this.#shown);
		this.#agentOffer?.show(agent, () => {
			this.#choice.pick({ agent });
			this.#composer.moveDraft(undefined);
			this.#around.onNew();
		});
	}

	#startNewChat(): void {
		if (this.#sessionId === undefined) void this.open();
		else this.#around.onNew();
	}

	/** `mayPass`: whether to offer reopening the chat. By default, this is offered if there was no response. */
	#showFailure(error: unknown, mayPass = error instanceof ClientError && error.status === undefined): void {
		this.#composer.setStatus('');
		const again = () => void this.open(this.#sessionId);
		const { renew, onFailure } = this.#around;
		if (renew !== undefined && error instanceof ClientError && error.status === 401) {
			renew();
			again();
			return;
		}
		if (error instanceof ClientError) onFailure?.(error);
		const isGone = error instanceof ClientError && error.code === 'not_found';
		const leave = isGone ? { label: say('New chat'), onClick: () => this.#startNewChat() } : undefined;
		const remedy = mayPass ? { label: say('Try again'), onClick: again } : leave;
		this.#transcript.addFailure(createFailure(error, again, remedy));
	}
}
