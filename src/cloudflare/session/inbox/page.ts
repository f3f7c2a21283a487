import type { CallAnswer } from '../../../core/chat/call-answers.ts';
import type { PagePost } from '../../objects/session-api.ts';
import { createPastRun } from '../run/run.ts';
import { storeAnswers } from './answers.ts';
import { replaceMessage, storeMessage } from './messages.ts';
import { findPlace, isAnswered, isSameMessage } from './posted.ts';
import type { InboxTransaction, Stored } from './transaction.ts';

/** Stores what a page posts. Its run may have begun before; there is none where the page says nothing new. */
export function storePost(tx: InboxTransaction, post: PagePost): Stored {
	const { input, model, answers = [], isAgain = false, messageId } = post;
	if (input === undefined) return storePostedAnswers(tx, answers, model);
	const given = tx.toInbound(input);
	const { queue } = tx.store;
	const waits = queue.findNamed(input.messageId);
	if (waits !== undefined) {
		if (!isAgain && !isSameMessage(waits.message, given.message)) queue.edit({ ...waits, ...given }, Date.now());
		return tx.joinWaiting(waits);
	}
	const found = findPlace(tx.store, { message: given.message, ownId: input.messageId, isAgain, messageId });
	if (found === undefined) return storeMessage(tx, given, input);
	return 'run' in found ? tx.join(found) : replaceMessage(tx, { ...found, given }, { model });
}

/** Stores answers that a page posts. Some of them it may have posted before. */
function storePostedAnswers(tx: InboxTransaction, answers: readonly CallAnswer[], model: string | undefined): Stored {
	const { live } = tx.runner;
	if (live !== undefined) return { type: 'join', run: live };
	const open = tx.findOpenAnswers(answers);
	if (open.length > 0) return storeAnswers(tx, open, { model });
	const isOver = isAnswered(tx.store, answers);
	return { type: 'join', run: isOver ? createPastRun(tx.store, tx.store.nextRun - 1) : undefined };
}
