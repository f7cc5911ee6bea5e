/* state.h - what is known at one point of an execution: the values of variables, of their fields and elements. Each
 * is a cell of an object. Changes are recorded on a trail, so that an execution can go back and take another path. */
#pragma once

#include "base/util.h"
#include "plain/value.h"

typedef struct Object Object;
typedef struct Place { /* the cell at, or one of the cells at + i * step, i < count; of: NULL: none that is followed */
    Object *of;
    int at, step, count;
} Place;
typedef struct Content {
    ValueSet v;
    Place to; /* of a pointer: what it points to; of a structure: where it is */
} Content;
typedef struct Location {
    Content is;
    Object *of;
    Content joined; /* by paths_join */
    int paths;      /* that have changed it */
    unsigned visit; /* the last one of those that visit each cell once */
} Location;
struct Object {
    int n;
    Location *cells;
    bool is_lost;  /* a pointer to it is somewhere that is not followed: its values are unknown from then on */
    int64_t since; /* the clock when its variable was last declared */
};

typedef struct Mark { /* a point of the trail */
    int trail;
    int64_t clock;
} Mark;
typedef struct Change {
    Location *cell;
    Content to;
} Change;
typedef VEC(Change) Changes;
typedef VEC(Changes) Paths; /* each the changes since a mark */

#define vec_free(v) (pool_free((v)->at, (size_t)(v)->cap * sizeof *(v)->at), (v)->at = NULL, (v)->n = (v)->cap = 0)
Object *object_new(int cells);
void object_declare(Object *o); /* its variable's life begins: older marks do not concern it */
void object_lose(Object *o);
int objects_lost(void);
Content value_in(ValueSet v);
Content value_unknown(void);
Content value_of_either(Content a, Content b);
bool value_is_same(const Content *a, const Content *b);
Content place_read(Place p);
void place_write(Place p, Content v);

Mark mark(void);
void undo(Mark m);
bool changes_only(Mark m, const Object *o); /* since m, of what there was at m, and after forget(m) */
void forget(Mark m);                        /* what is needed only to go back to points after m */
void paths_add(Paths *all, Mark m);
void paths_add_unchanged(Paths *all);
void paths_cut(Paths *all, int n);   /* leaves the first n */
void paths_join(Paths *all, Mark m); /* the state at m, changed by one of the paths, of which there is at least one */
bool state_widen(Mark m, int round); /* joins the state at m with the present one; false: the former contains it */
