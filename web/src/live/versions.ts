/** Decides which events are news: versions of an entity only grow, one by one. */

export type Decision = 'apply' | 'old' | 'gap';

/** Decide on an event with a version, where the known version of the entity is `known`; undefined when it is unknown. */
export function decide(known: number | undefined, version: number): Decision {
  if (known === undefined) return 'apply';
  if (version <= known) return 'old';
  return version === known + 1 ? 'apply' : 'gap';
}
